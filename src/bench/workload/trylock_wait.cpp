// Threads that wait for a mutex by trying it again and again.
#include "catalogue.hpp"
#include "lockwright/env/native.hpp"
#include "mutexes.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

struct tried_sections : with_one_mutex {
  explicit tried_sections(const settings& /*given*/) {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(tried_sections& /*w*/, const settings& given, std::size_t /*index*/)
        : section{settings::loops_of_cycles(given.real("section-cycles"))},
          gap{settings::loops_of_cycles(given.real("gap-cycles"))},
          pauses{given.count("pauses")} {}
    std::uint64_t section;
    std::uint64_t gap;
    std::uint64_t pauses;
    std::uint64_t failures = 0;
  };

  // Failures are published under the mutex, so that this makes no traffic of its own.
  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    while (!meter.try_lock(shared)) {
      ++me.failures;
      for (std::uint64_t i = 0; i < me.pauses; ++i) {
        lockwright::native::relax();
      }
    }
    failures += me.failures;
    me.failures = 0;
    ++successes;
    meter.work(me.section);
    meter.unlock(shared);
    meter.work(me.gap);
    return 1;
  }

  // From the start, the warm-up with it.
  void report(result& line, const totals& /*done*/) {
    must(pthread_mutex_lock(&shared.mutex), "pthread_mutex_lock");
    if (successes != 0) {
      line.field("failures_per_acquisition",
                 static_cast<double>(failures) / static_cast<double>(successes));
    }
    must(pthread_mutex_unlock(&shared.mutex), "pthread_mutex_unlock");
  }

  // Guarded by the mutex.
  alignas(cache_line_pair) std::uint64_t failures = 0;
  std::uint64_t successes = 0;
};

}  // namespace

const description trylock_wait{
    .name = "trylock-wait",
    .measures = "threads that wait for one mutex by trying it until they get it",
    .source =
        "Guerraoui et al., Lock-Unlock: Is That All?, TOCS 2019: busy-waiting with "
        "trylock",
    .operation = "acquisitions",
    .threads = 2,
    .parameters = {{"section-cycles", 1000, "cycles", "work while the mutex is held"},
                   {"gap-cycles", 1000, "cycles", "work between two acquisitions of a thread"},
                   {"pauses", 1, "", "pause instructions between two tries"}},
    .figures = {{"failures_per_acquisition", "failed tries",
                 "tries that found the mutex held, for each that got it", true}},
    .one_mutex = true,
    .run = run_workload<tried_sections>,
};

}  // namespace bench
