#include "report.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

#include "../programs/json_line.hpp"

namespace lockwright::simulate {
namespace {

/// Distinct holders in the disjoint whole windows, summed, and how many windows there are.
struct working_set {
  std::uint64_t distinct = 0;
  std::uint64_t windows = 0;
};

working_set lwss(const std::vector<std::uint32_t>& holders, std::uint64_t window) {
  working_set found;
  found.windows = window == 0 ? 0 : holders.size() / window;
  std::unordered_map<std::uint32_t, std::uint64_t> last;
  for (std::uint64_t i = 0; i < found.windows * window; ++i) {
    auto [at, is_new] = last.try_emplace(holders[i], i / window);
    if (is_new || at->second != i / window) {
      ++found.distinct;
      at->second = i / window;
    }
  }
  return found;
}

/// The q-thousandth of the sorted values.
std::uint64_t quantile(const std::vector<std::uint64_t>& sorted, std::uint64_t q) {
  return sorted.empty() ? 0 : sorted[(sorted.size() - 1) * q / 1000];
}

std::vector<std::uint64_t> returns(const std::vector<std::uint32_t>& holders) {
  std::unordered_map<std::uint32_t, std::uint64_t> last;
  std::vector<std::uint64_t> between;
  for (std::uint64_t i = 0; i < holders.size(); ++i) {
    auto [at, is_new] = last.try_emplace(holders[i], i);
    if (!is_new) {
      between.push_back(i - at->second - 1);
      at->second = i;
    }
  }
  std::sort(between.begin(), between.end());
  return between;
}

std::vector<std::uint64_t> difference(const std::array<std::uint64_t, distances>& after,
                                      const std::array<std::uint64_t, distances>& before) {
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < distances; ++i) {
    all.push_back(after[i] - before[i]);
  }
  return all;
}

programs::json_line begin_line(const outcome& run, const simulation& in) {
  std::uint64_t operations = 0;
  for (const std::uint64_t one : run.operations) {
    operations += one;
  }
  programs::json_line line;
  line.field("kind", std::string_view("simulated"))
      .field("lock", std::string_view(run.lock))
      .field("workload", std::string_view(run.workload))
      .field("threads", static_cast<std::uint64_t>(run.operations.size()))
      .field("seed", run.seed)
      .field("picoseconds", run.length)
      .field("operations", operations)
      .field("per_thread", run.operations)
      .field("acquisitions", in.after().acquisitions - in.before().acquisitions);
  return line;
}

/// Adds what the machine counted, and prints the line.
void end_line(programs::json_line& line, const outcome& run, const simulation& in) {
  const counts& a = in.after();
  const counts& b = in.before();
  const figures& f = in.on().all;
  // Picojoules: microwatts times microseconds.
  constexpr picoseconds of_us = 1'000'000;
  const std::uint64_t running = a.running - b.running;
  const std::uint64_t pausing = std::min(a.pausing - b.pausing, running);
  const std::uint64_t energy =
      (running - pausing) / of_us * f.watts_running + pausing / of_us * f.watts_pausing +
      (a.idle - b.idle) / of_us * f.watts_idle + (a.deep - b.deep) / of_us * f.watts_deep +
      run.length / of_us * f.watts_base;
  line.field("transfers", difference(a.transfers, b.transfers))
      .field("from_memory", a.from_memory - b.from_memory)
      .field("invalidations", a.invalidations - b.invalidations)
      .field("data_misses", a.data_misses - b.data_misses)
      .field("translation_misses", a.translation_misses - b.translation_misses)
      .field("sleeps", a.sleeps - b.sleeps)
      .field("wakes", a.wakes - b.wakes)
      .field("switches", a.switches - b.switches)
      .field("preemptions", a.preemptions - b.preemptions)
      .field("migrations", a.migrations - b.migrations)
      .field("working_ps", a.working - b.working)
      .field("running_ps", running)
      .field("pausing_ps", pausing)
      .field("idle_ps", a.idle - b.idle)
      .field("deep_ps", a.deep - b.deep)
      .field("picojoules", energy)
      .field("events", in.time.made());
  line.print();
}

}  // namespace

void print(const outcome& run, const simulation& in, record& recorded) {
  const counts& a = in.after();
  const counts& b = in.before();
  std::sort(recorded.waits.begin(), recorded.waits.end());
  const working_set set = lwss(recorded.holders, run.window);
  const std::vector<std::uint64_t> between = returns(recorded.holders);
  programs::json_line line = begin_line(run, in);
  line.field("contended", a.contended - b.contended)
      .field("handovers", difference(a.handovers, b.handovers))
      .field("handed_over", a.handed_over - b.handed_over)
      .field("handover_ps", a.handover_time - b.handover_time)
      .field("same_thread", a.same_thread - b.same_thread)
      .field("lwss_distinct", set.distinct)
      .field("lwss_windows", set.windows)
      .field("mttr", quantile(between, 500))
      .field("wait_p50_ps", quantile(recorded.waits, 500))
      .field("wait_p99_ps", quantile(recorded.waits, 990))
      .field("wait_p999_ps", quantile(recorded.waits, 999))
      .field("wait_max_ps", recorded.longest_wait);
  end_line(line, run, in);
}

void print(const outcome& run, const simulation& in, const rw_record& recorded) {
  programs::json_line line = begin_line(run, in);
  line.field("reads", recorded.reads)
      .field("writes", recorded.writes)
      .field("most_readers", recorded.most_readers)
      .field("longest_read_wait_ps", recorded.longest_read_wait)
      .field("longest_write_wait_ps", recorded.longest_write_wait);
  end_line(line, run, in);
}

}  // namespace lockwright::simulate
