// Threads that contend for one mutex: the rate of handovers, and the work of the kernel.
#include <algorithm>
#include <vector>

#include "bench.hpp"
#include "contest.hpp"
#include "tally.hpp"

namespace bench {

int handover(int argc, char** argv) {
  const options given(argc, argv,
                      {{"threads", 2},
                       {"seconds", 0.5},
                       {"section-ns", 100},
                       {"gap-ns", 200},
                       {"loops-per-us", 0}});
  const std::uint64_t threads = given.count("threads", 1);
  const double seconds = given.real("seconds");
  const work_scale scale(given.real("loops-per-us"));
  static contest_state a;
  a.section_loops = scale.loops(given.real("section-ns"));
  a.gap_loops = scale.loops(given.real("gap-ns"));

  contest<tally> contenders(a, threads);
  const switches before = switches_so_far();
  const double used_before = processor_seconds_so_far();
  const std::uint64_t started = now_ns();
  a.start.open();
  sleep_ns(static_cast<std::uint64_t>(seconds * 1e9));

  // The count is taken here, before the threads are stopped: where every handover waits for
  // a time slice, the last round alone can take longer than the measurement.
  const std::vector<std::uint64_t> counted = contenders.acquisitions();
  const std::uint64_t elapsed = now_ns() - started;
  const double used = processor_seconds_so_far() - used_before;
  const switches after = switches_so_far();
  a.stop.store(true);
  result measured("handover", "measured");
  measured.field("threads", threads)
      .field("began_ns", started)
      .field("seconds", static_cast<double>(elapsed) / 1e9)
      .field("processor_seconds", used)
      .field("acquisitions", sum(counted))
      .field("least", *std::min_element(counted.begin(), counted.end()))
      .field("most", *std::max_element(counted.begin(), counted.end()))
      .field("voluntary", after.voluntary - before.voluntary)
      .field("involuntary", after.involuntary - before.involuntary);
  add_origin(measured);
  measured.print();

  contenders.end("handover");
  return 0;
}

}  // namespace bench
