// Short sections and long gaps of empty loops: circulating threads share the pipelines of a core.
#include "catalogue.hpp"
#include "random.hpp"
#include "sites.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

void empty_loop(std::uint64_t iterations) {
  for (std::uint64_t i = 0; i < iterations; ++i) {
    asm volatile("" : "+r"(i));
  }
}

struct delay_loops {
  explicit delay_loops(const settings& given) : sites{given.count("mutexes", 1)} {}

  struct alignas(apart) own {
    own(delay_loops& w, const settings& given, std::size_t index)
        : section{given.count("section-loops")},
          gap{given.count("gap-loops")},
          sites{w.sites},
          random{index} {}
    std::uint64_t section;
    std::uint64_t gap;
    site_array& sites;
    random_source random;
  };

  template <class Probe>
  static std::uint64_t step(own& me, Probe& meter) {
    site& drawn = me.sites[me.random.below(me.sites.size())];
    meter.lock(drawn);
    empty_loop(me.section);
    meter.unlock(drawn);
    empty_loop(me.gap);
    return 1;
  }

  [[nodiscard]] std::uint64_t taken() const { return sites.taken(); }

  site_array sites;
};

}  // namespace

const description stress_latency{
    .name = "stress-latency",
    .measures = "threads that run short loops under a mutex and long ones without",
    .source =
        "David et al., libslock's stress_latency; Dice, Malthusian Locks, EuroSys 2017, "
        "figure 6 (-l 1 -a 200 -p 5000)",
    .operation = "acquisitions",
    .threads = 2,
    .parameters = {{"mutexes", 1, "", "mutexes, of which one is drawn each time", 1},
                   {"section-loops", 200, "", "iterations of an empty loop under the mutex"},
                   {"gap-loops", 5000, "", "iterations between two acquisitions of a thread"}},
    .run = run_workload<delay_loops>,
};

}  // namespace bench
