// The latency of a wake, by the duration of the sleep.
#include "../../calibrate/wakes.hpp"
#include "catalogue.hpp"
#include "lockless.hpp"

namespace bench {
namespace {

int time_wakes(const description& about, const settings& given) {
  given.pin(0);
  const lockless_run run(given);
  const wake_times times =
      measure_wakes({.count = given.count("naps", 1),
                     .seconds = given.real("seconds"),
                     .delay_ns = ns_of_cycles(given, given.real("delay-cycles"))});
  return run.end(about.name, times.count, [&](result& line, double /*seconds*/) {
    line.field("turnaround_ns", times.turnaround)
        .field("wake_ns", times.wake)
        .field("sleep_ns", times.sleep);
  });
}

}  // namespace

const description futex_latency{
    .name = "futex-latency",
    .measures = "how long a thread that sleeps on a futex takes to run again, by how long it slept",
    .source = "Falsafi et al., Unlocking Energy, ATC 2016, figure 6",
    .operation = "wakes",
    .parameters = {{"delay-cycles", 0, "cycles",
                    "from going to sleep to the wake call; the paper has 0 to 10 million"},
                   {"naps", 500, "", "sleeps in a run, if --seconds is long enough", 1}},
    .figures = {{"turnaround_ns", "turnaround ns",
                 "from the wake call to the sleeper running; "
                 "median over the sleeps",
                 true},
                {"wake_ns", "wake ns", "the wake call; median over the sleeps", true},
                {"sleep_ns", "sleep ns",
                 "from going to sleep to when the other thread sees it; median over the sleeps",
                 true}},
    .uses_lock = false,
    .run = time_wakes,
};

}  // namespace bench
