// Threads that contend for one mutex until stopped.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench.hpp"
#include "tally.hpp"

namespace bench {

struct contest_state {
  alignas(cache_line_pair) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  // Written under the mutex only, by plain instructions: if it falls behind the sum of the
  // tallies, two threads were inside at once.
  alignas(cache_line_pair) std::uint64_t guarded = 0;
  alignas(cache_line_pair) std::atomic<bool> stop{false};
  gate start;
  std::uint64_t section_loops = 0;
  std::uint64_t gap_loops = 0;
};

// Each thread's tally is called when the thread begins to wait for the mutex and when it has
// released it; both calls are part of the measured time.
template <class Tally>
class contest {
 public:
  // Returns when all threads are there. They begin when the arena's gate is opened.
  contest(contest_state& a, std::uint64_t threads)
      : arena_{a}, tallies_{new Tally[threads]}, contenders_(threads) {
    for (std::size_t i = 0; i < threads; ++i) {
      contenders_[i] = {&a, &tallies_[i], {}};
      must(pthread_create(&contenders_[i].thread, nullptr, contend, &contenders_[i]),
           "pthread_create");
    }
    a.start.await(static_cast<std::uint32_t>(threads));
  }

  [[nodiscard]] const Tally* tallies() const { return tallies_.get(); }

  // How often each thread has had the mutex.
  [[nodiscard]] std::vector<std::uint64_t> acquisitions() const {
    return read_tallies(tallies_.get(), contenders_.size());
  }

  // Joins the stopped threads, and prints their totals.
  void end(const char* workload) {
    for (const contender& c : contenders_) {
      must(pthread_join(c.thread, nullptr), "pthread_join");
    }
    const std::vector<std::uint64_t> final = acquisitions();
    result(workload, "final")
        .field("acquisitions", sum(final))
        .field("guarded", arena_.guarded)
        .field("per_thread", final)
        .print();
  }

 private:
  struct contender {
    contest_state* shared;
    Tally* tally_of_thread;
    pthread_t thread;
  };

  static void* contend(void* at) {
    auto* const me = static_cast<contender*>(at);
    contest_state& a = *me->shared;
    std::uint64_t done = 0;
    a.start.pass();
    while (!a.stop.load(std::memory_order_relaxed)) {
      me->tally_of_thread->begins_to_wait();
      must(pthread_mutex_lock(&a.mutex), "pthread_mutex_lock");
      const std::uint64_t before = a.guarded;
      spin_loops(a.section_loops);
      a.guarded = before + 1;
      must(pthread_mutex_unlock(&a.mutex), "pthread_mutex_unlock");
      me->tally_of_thread->has_unlocked();
      me->tally_of_thread->acquisitions.store(++done, std::memory_order_relaxed);
      spin_loops(a.gap_loops);
    }
    return nullptr;
  }

  contest_state& arena_;
  std::unique_ptr<Tally[]> tallies_;
  std::vector<contender> contenders_;
};

}  // namespace bench
