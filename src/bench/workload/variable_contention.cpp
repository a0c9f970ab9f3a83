// Each acquisition is of another mutex, drawn from few or many.
#include "catalogue.hpp"
#include "random.hpp"
#include "sites.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

struct drawn_mutexes {
  explicit drawn_mutexes(const settings& given) : sites{given.count("mutexes", 1)} {}

  struct alignas(apart) own {
    own(drawn_mutexes& w, const settings& given, std::size_t index)
        : section{settings::loops_of_cycles(given.real("section-cycles"))},
          gap{settings::loops_of_cycles(given.real("gap-cycles"))},
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
    meter.work(me.section);
    meter.unlock(drawn);
    meter.work(me.gap);
    return 1;
  }

  [[nodiscard]] std::uint64_t taken() const { return sites.taken(); }

  site_array sites;
};

}  // namespace

const description variable_contention{
    .name = "variable-contention",
    .measures = "threads that take another mutex each time, drawn from 1 (high contention) to 512",
    .source = "Falsafi et al., Unlocking Energy, ATC 2016, figure 12",
    .operation = "acquisitions",
    .threads = 2,
    .parameters = {{"mutexes", 16, "", "how many there are to draw from; the paper has 1 to 512",
                    1},
                   {"section-cycles", 1000, "cycles",
                    "work while the mutex is held; the paper has 0 to 8000"},
                   {"gap-cycles", 0, "cycles", "work between two acquisitions of a thread"}},
    .run = run_workload<drawn_mutexes>,
};

}  // namespace bench
