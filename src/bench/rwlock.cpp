// Readers and writers of one reader-writer lock: the throughput of both, their longest waits, and
// the cost of an uncontended pair of calls.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench.hpp"
#include "workload/random.hpp"

namespace bench {
namespace {

struct rw_arena {
  alignas(cache_line_pair) pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  // Written by writers, read by readers: they differ if a writer ran beside another thread.
  // Volatile: read and written where the section has it, not merged.
  alignas(cache_line_pair) volatile std::uint64_t first = 0;
  volatile std::uint64_t second = 0;
  alignas(cache_line_pair) std::atomic<bool> stop{false};
  gate start;
  std::uint64_t section_loops = 0;
  std::uint64_t gap_loops = 0;
  double write_share = 0;
  std::uint64_t burst = 1;
};

/// What one thread did. Written by that thread, read by the measuring one during the run.
struct alignas(cache_line_pair) rw_tally {
  rw_arena* arena = nullptr;
  std::uint64_t seed = 0;
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::uint64_t> writes{0};
  std::atomic<std::uint64_t> longest_read_wait{0};   // ticks
  std::atomic<std::uint64_t> longest_write_wait{0};  // ticks
  std::atomic<std::uint64_t> torn{0};
};

void increment(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void record_wait(std::atomic<std::uint64_t>& longest, std::uint64_t waited) {
  if (waited > longest.load(std::memory_order_relaxed)) {
    longest.store(waited, std::memory_order_relaxed);
  }
}

void write_once(rw_arena& a, rw_tally& tally) {
  const std::uint64_t called = ticks();
  must(pthread_rwlock_wrlock(&a.lock), "pthread_rwlock_wrlock");
  record_wait(tally.longest_write_wait, ticks() - called);
  a.first = a.first + 1;
  spin_loops(a.section_loops);
  a.second = a.second + 1;
  if (a.first != a.second) {
    increment(tally.torn);
  }
  must(pthread_rwlock_unlock(&a.lock), "pthread_rwlock_unlock");
  increment(tally.writes);
}

void read_once(rw_arena& a, rw_tally& tally) {
  const std::uint64_t called = ticks();
  must(pthread_rwlock_rdlock(&a.lock), "pthread_rwlock_rdlock");
  record_wait(tally.longest_read_wait, ticks() - called);
  const std::uint64_t seen = a.first;
  spin_loops(a.section_loops);
  if (seen != a.second) {
    increment(tally.torn);
  }
  must(pthread_rwlock_unlock(&a.lock), "pthread_rwlock_unlock");
  increment(tally.reads);
}

void* read_and_write(void* at) {
  rw_tally& tally = *static_cast<rw_tally*>(at);
  rw_arena& a = *tally.arena;
  random_source random(tally.seed);
  a.start.pass();
  while (!a.stop.load(std::memory_order_relaxed)) {
    if (random.chance(a.write_share)) {
      for (std::uint64_t i = 0; i < a.burst; ++i) {
        write_once(a, tally);
      }
    } else {
      read_once(a, tally);
    }
    spin_loops(a.gap_loops);
  }
  return nullptr;
}

/// Nanoseconds of one pair of calls that no other thread disturbs: the fastest of ten batches.
template <class Lock>
double pair_ns(pthread_rwlock_t& lock, Lock lock_for) {
  constexpr int pairs = 20'000;
  double fastest = 1e9;
  for (int batch = 0; batch < 10; ++batch) {
    int errors = 0;
    const std::uint64_t began = now_ns();
    for (int i = 0; i < pairs; ++i) {
      errors |= lock_for(&lock);
      errors |= pthread_rwlock_unlock(&lock);
    }
    fastest = std::min(fastest, static_cast<double>(now_ns() - began) / pairs);
    must(errors, "an uncontended pthread_rwlock call");
  }
  return fastest;
}

}  // namespace

int rwlock(int argc, char** argv) {
  const options given(argc, argv,
                      {{"threads", 2},
                       {"seconds", 0.3},
                       {"read-percent", 90},
                       {"burst", 1},
                       {"section-cycles", 200},
                       {"gap-cycles", 400}});
  static rw_arena a;
  const std::uint64_t threads = given.count("threads", 1);
  const double read_share = given.real("read-percent") / 100;
  a.burst = given.count("burst", 1);
  // A burst counts as one draw, so that the share of reads is that of the acquisitions.
  const double write_share = 1 - read_share;
  a.write_share = write_share / (write_share + read_share * static_cast<double>(a.burst));
  a.section_loops = given.count("section-cycles") / cycles_per_loop;
  a.gap_loops = given.count("gap-cycles") / cycles_per_loop;

  std::vector<rw_tally> tallies(threads);
  std::vector<pthread_t> running(threads);
  for (std::uint64_t i = 0; i < threads; ++i) {
    tallies[i].arena = &a;
    tallies[i].seed = i + 1;
    must(pthread_create(&running[i], nullptr, read_and_write, &tallies[i]), "pthread_create");
  }
  a.start.await(static_cast<std::uint32_t>(threads));
  // With threads alive, as in a program that needs locks.
  const double read_pair = pair_ns(a.lock, pthread_rwlock_rdlock);
  const double write_pair = pair_ns(a.lock, pthread_rwlock_wrlock);

  const double used_before = processor_seconds_so_far();
  const std::uint64_t began = now_ns();
  const std::uint64_t began_ticks = ticks();
  a.start.open();
  sleep_ns(static_cast<std::uint64_t>(given.real("seconds") * 1e9));
  // All is read before the threads are stopped, as their last waits may be long.
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t longest_read = 0;
  std::uint64_t longest_write = 0;
  for (const rw_tally& each : tallies) {
    reads += each.reads.load(std::memory_order_relaxed);
    writes += each.writes.load(std::memory_order_relaxed);
    longest_read = std::max(longest_read, each.longest_read_wait.load(std::memory_order_relaxed));
    longest_write =
        std::max(longest_write, each.longest_write_wait.load(std::memory_order_relaxed));
  }
  const std::uint64_t ended = now_ns();
  const double seconds = static_cast<double>(ended - began) / 1e9;
  const double ns_per_tick =
      static_cast<double>(ended - began) / static_cast<double>(ticks() - began_ticks);
  const double used = processor_seconds_so_far() - used_before;
  result measured("rwlock", "measured");
  measured.field("threads", threads)
      .field("seconds", seconds)
      .field("processor_seconds", used)
      .field("reads_per_second", static_cast<double>(reads) / seconds)
      .field("writes_per_second", static_cast<double>(writes) / seconds)
      .field("longest_read_wait_ns", static_cast<double>(longest_read) * ns_per_tick)
      .field("longest_write_wait_ns", static_cast<double>(longest_write) * ns_per_tick)
      .field("read_pair_ns", read_pair)
      .field("write_pair_ns", write_pair);
  add_origin(measured);
  measured.print();

  a.stop.store(true);
  for (const pthread_t each : running) {
    must(pthread_join(each, nullptr), "pthread_join");
  }
  std::uint64_t torn = 0;
  for (const rw_tally& each : tallies) {
    torn += each.torn.load();
  }
  result("rwlock", "ended").field("torn", torn).print();
  if (torn != 0 || a.first != a.second) {
    fail("a writer held the lock together with another thread");
  }
  return 0;
}

}  // namespace bench
