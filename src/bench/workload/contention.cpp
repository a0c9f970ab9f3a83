// Threads that contend for one mutex, for the commands `bench handover` and `bench oversubscribe`.
#include <algorithm>
#include <vector>

#include "../../workload/single_mutex.hpp"
#include "catalogue.hpp"
#include "native.hpp"
#include "thread_group.hpp"

namespace bench {
namespace {

using contenders = lockwright::workloads::equal_sections<posix>;

// The rate of handovers, and the work of the kernel.
struct handovers : contenders {
  using contenders::contenders;

  static void report(result& line, const run_record& done) {
    const auto [least, most] = std::minmax_element(done.per_thread.begin(), done.per_thread.end());
    line.field("least", *least).field("most", *most);
  }
};

// The progress of each thread over time, and the longest wait.
struct many_contenders : contenders {
  explicit many_contenders(const settings& given)
      : contenders{given}, section{given.length("section")}, gap{given.length("gap")} {}

  // Every window of this length is searched for threads without progress.
  static constexpr std::uint64_t window_ns = 1'000'000'000;
  // Windows begin this often: ten in each second.
  static std::uint64_t sample_ns() { return 100'000'000; }

  // The fewest acquisitions that any thread made in any window: the shortest spans between two
  // samples that are a window long or longer, since the sampler too may be late.
  static std::uint64_t least_in_a_window(const std::vector<sample>& samples) {
    std::uint64_t least = UINT64_MAX;
    std::size_t end = 0;
    for (const sample& from : samples) {
      while (end < samples.size() && samples[end].at - from.at < window_ns) {
        ++end;
      }
      if (end == samples.size()) {
        break;
      }
      for (std::size_t i = 0; i < from.operations.size(); ++i) {
        least = std::min(least, samples[end].operations[i] - from.operations[i]);
      }
    }
    return least;
  }

  void report(result& line, const run_record& done) const {
    const double loops_per_us = calibrate_loops_per_us();
    line.field("section_ns", static_cast<double>(section) / loops_per_us * 1e3)
        .field("gap_ns", static_cast<double>(gap) / loops_per_us * 1e3);
    if (const std::uint64_t least = least_in_a_window(done.samples); least != UINT64_MAX) {
      line.field("least_in_a_second", least);
    }
  }

  std::uint64_t section;
  std::uint64_t gap;
};

}  // namespace

const description handover{
    .name = "handover",
    .measures = "threads that contend for one mutex",
    .operation = "acquisitions",
    .parameters = {{"section-ns", 100, "ns", "work while the mutex is held"},
                   {"gap-ns", 200, "ns", "work between two acquisitions of a thread"}},
    .in_native_runs = {{"seconds", 0.5, "s", "", 1e-3}, {"warm-up", 0, "s"}},
    .one_mutex = true,
    .is_listed = false,
    .run = run_workload<handovers>,
};

const description oversubscribe{
    .name = "oversubscribe",
    .measures =
        "threads that contend for one mutex: how long each waits, how steady its progress is",
    .operation = "acquisitions",
    .parameters = {{"section-cycles", 100, "cycles", "work while the mutex is held"},
                   {"gap-cycles", 500, "cycles", "work between two acquisitions of a thread"}},
    .in_native_runs = {{"seconds", 2.5, "s", "", 1e-3}, {"warm-up", 0, "s"}},
    .is_listed = false,
    .run = run_thread_group<many_contenders, meter_waits>,
};

}  // namespace bench
