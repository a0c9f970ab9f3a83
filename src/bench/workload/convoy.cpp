// At times the holder of the mutex loses its processor for long, and all others queue.
#include "catalogue.hpp"
#include "mutexes.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

struct held_up : with_one_mutex {
  explicit held_up(const settings& /*given*/) {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(held_up& /*w*/, const settings& given, std::size_t index)
        : section{settings::loops_of_cycles(given.real("section-cycles"))},
          gap{settings::loops_of_cycles(given.real("gap-cycles"))},
          every{given.count("sleep-every", 1)},
          ns{given.count("sleep-us") * 1000},
          // Not all at the same time.
          since{every * index / given.threads()} {}
    std::uint64_t section;
    std::uint64_t gap;
    std::uint64_t every;
    std::uint64_t ns;
    std::uint64_t since;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    meter.lock(shared);
    meter.work(me.section);
    if (++me.since >= me.every) {
      me.since = 0;
      sleep_ns(me.ns);
    }
    meter.unlock(shared);
    meter.work(me.gap);
    return 1;
  }
};

}  // namespace

const description convoy{
    .name = "convoy",
    .measures =
        "short sections of threads that now and then sleep in one: does the queue dissolve?",
    .source = "Blasgen et al., The Convoy Phenomenon, 1979",
    .operation = "acquisitions",
    .threads = 4,
    .parameters = {{"section-cycles", 100, "cycles", "work while the mutex is held"},
                   {"gap-cycles", 2000, "cycles", "work between two acquisitions of a thread"},
                   {"sleep-every", 10000, "", "sections of a thread, of which the last one sleeps",
                    1},
                   {"sleep-us", 1000, "us", "how long it sleeps"}},
    .one_mutex = true,
    .run = run_workload<held_up>,
};

}  // namespace bench
