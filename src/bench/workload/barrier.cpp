// A barrier made of a mutex and a condition variable, as in many programs.
#include "catalogue.hpp"
#include "mutexes.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

struct cond_barrier : with_one_mutex {
  explicit cond_barrier(const settings& given) : threads{given.threads()} {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(cond_barrier& /*w*/, const settings& given, std::size_t /*index*/)
        : gap{settings::loops_of_cycles(given.real("gap-cycles"))} {}
    std::uint64_t gap;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    meter.work(me.gap);
    meter.lock(shared);
    bool passed = true;
    if (++arrived == threads) {
      arrived = 0;
      ++generation;
      must(pthread_cond_broadcast(&all_there), "pthread_cond_broadcast");
    } else {
      const std::uint64_t mine = generation;
      while (generation == mine && !over) {
        meter.wait(all_there, shared);
      }
      passed = generation != mine;
      // Some threads have ended, so no thread will come to release the others.
      arrived -= passed ? 0 : 1;
    }
    passages += passed ? 1 : 0;
    meter.unlock(shared);
    return passed ? 1 : 0;
  }

  void release_waiters() {
    must(pthread_mutex_lock(&shared.mutex), "pthread_mutex_lock");
    over = true;
    must(pthread_cond_broadcast(&all_there), "pthread_cond_broadcast");
    must(pthread_mutex_unlock(&shared.mutex), "pthread_mutex_unlock");
  }

  [[nodiscard]] std::string find_fault(const totals& all) const {
    const bool right = passages == all.operations && passages == generation * threads;
    return right ? "" : "a thread passed the barrier before the others arrived";
  }

  alignas(cache_line_pair) pthread_cond_t all_there = PTHREAD_COND_INITIALIZER;
  // Guarded by the mutex.
  alignas(cache_line_pair) std::uint64_t arrived = 0;
  std::uint64_t generation = 0;
  std::uint64_t passages = 0;
  bool over = false;
  std::uint64_t threads;
};

}  // namespace

const description barrier{
    .name = "barrier",
    .measures = "threads that wait for each other at a barrier of a mutex and a condition variable",
    .source =
        "Guerraoui et al., Lock-Unlock: Is That All?, TOCS 2019: barriers by "
        "condition variables: streamcluster, facesim",
    .operation = "passages of a thread",
    .threads = 2,
    .parameters = {{"gap-cycles", 1000, "cycles", "work of a thread before it arrives again"}},
    .run = run_workload<cond_barrier>,
};

}  // namespace bench
