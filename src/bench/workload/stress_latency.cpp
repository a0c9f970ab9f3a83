// Short sections and long gaps of empty loops: circulating threads share the pipelines of a core.
#include "../../workload/many_mutexes.hpp"
#include "catalogue.hpp"
#include "native.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

void empty_loop(std::uint64_t iterations) {
  for (std::uint64_t i = 0; i < iterations; ++i) {
    asm volatile("" : "+r"(i));
  }
}

struct delay_loops : lockwright::workloads::drawn_mutexes<posix> {
  using drawn_mutexes::drawn_mutexes;

  template <class Meter>
  static std::uint64_t step(thread_state& me, Meter& meter) {
    guarded_mutex& drawn = me.mutexes[me.random.below(me.mutexes.size())];
    meter.lock(drawn);
    empty_loop(me.section);
    meter.unlock(drawn);
    empty_loop(me.gap);
    return 1;
  }
};

}  // namespace

const description stress_latency{
    .name = "stress-latency",
    .measures = "threads that run short loops under a mutex and long ones without",
    .source =
        "David et al., libslock's stress_latency; Dice, Malthusian Locks, EuroSys 2017, "
        "figure 6 (-l 1 -a 200 -p 5000)",
    .operation = "acquisitions",
    .parameters = {{"mutexes", 1, "", "mutexes, of which one is drawn each time", 1},
                   {"section-loops", 200, "", "iterations of an empty loop under the mutex"},
                   {"gap-loops", 5000, "", "iterations between two acquisitions of a thread"}},
    .run = run_workload<delay_loops>,
};

}  // namespace bench
