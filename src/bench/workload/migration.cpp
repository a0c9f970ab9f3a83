// Threads that contend for one mutex and migrate between processors.
#include <sched.h>

#include <vector>

#include "catalogue.hpp"
#include "mutexes.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

std::vector<std::int64_t> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<std::int64_t> found;
  for (std::int64_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) {
      found.push_back(cpu);
    }
  }
  return found;
}

struct moving : with_one_mutex {
  explicit moving(const settings& /*given*/) {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(moving& /*w*/, const settings& given, std::size_t index)
        : section{settings::loops_of_cycles(given.real("section-cycles"))},
          gap{settings::loops_of_cycles(given.real("gap-cycles"))},
          every{given.count("move-every", 1)},
          since{every * index / given.threads()},
          processors{allowed_processors()},
          at{index} {}
    std::uint64_t section;
    std::uint64_t gap;
    std::uint64_t every;
    std::uint64_t since;
    std::vector<std::int64_t> processors;
    std::size_t at;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    meter.lock(shared);
    meter.work(me.section);
    meter.unlock(shared);
    meter.work(me.gap);
    if (++me.since >= me.every) {
      me.since = 0;
      pin_to(me.processors[++me.at % me.processors.size()]);
    }
    return 1;
  }
};

}  // namespace

const description migration{
    .name = "migration",
    .measures =
        "threads that contend for one mutex and each move to another processor now and then",
    .source =
        "Guerraoui et al., Lock-Unlock: Is That All?, TOCS 2019: handover between "
        "processors, with moving threads",
    .operation = "acquisitions",
    .threads = 2,
    .parameters = {{"section-cycles", 100, "cycles", "work while the mutex is held"},
                   {"gap-cycles", 500, "cycles", "work between two acquisitions of a thread"},
                   {"move-every", 1000, "", "acquisitions of a thread after which it moves", 1}},
    .one_mutex = true,
    .run = run_workload<moving>,
};

}  // namespace bench
