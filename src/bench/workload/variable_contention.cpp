// Each acquisition is of another mutex, drawn from few or many.
#include "catalogue.hpp"
#include "mutexes.hpp"
#include "random.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

struct drawn_mutexes {
  explicit drawn_mutexes(const settings& given) : mutexes{given.count("mutexes", 1)} {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(drawn_mutexes& w, const settings& given, std::size_t index)
        : section{settings::loops_of_cycles(given.real("section-cycles"))},
          gap{settings::loops_of_cycles(given.real("gap-cycles"))},
          mutexes{w.mutexes},
          random{index} {}
    std::uint64_t section;
    std::uint64_t gap;
    mutex_array& mutexes;
    random_source random;
  };

  template <class Meter>
  static std::uint64_t step(thread_state& me, Meter& meter) {
    guarded_mutex& drawn = me.mutexes[me.random.below(me.mutexes.size())];
    meter.lock(drawn);
    meter.work(me.section);
    meter.unlock(drawn);
    meter.work(me.gap);
    return 1;
  }

  [[nodiscard]] std::uint64_t taken() const { return mutexes.taken(); }

  mutex_array mutexes;
};

}  // namespace

const description variable_contention{
    .name = "variable-contention",
    .measures = "threads that take another mutex each time, drawn from 1 (high contention) to 512",
    .source = "Falsafi et al., Unlocking Energy, ATC 2016, figure 12",
    .operation = "acquisitions",
    .threads = 2,
    .parameters = {{"mutexes", 16, "", "number of mutexes to draw from; the paper has 1 to 512", 1},
                   {"section-cycles", 1000, "cycles",
                    "work while the mutex is held; the paper has 0 to 8000"},
                   {"gap-cycles", 0, "cycles", "work between two acquisitions of a thread"}},
    .run = run_workload<drawn_mutexes>,
};

}  // namespace bench
