// More threads than processors contend for one mutex: throughput relative to few threads, progress
// of each thread over time, and the longest wait.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "contest.hpp"
#include "progress.hpp"
#include "tally.hpp"

namespace bench {
namespace {

// Every window of this length is searched for threads without progress.
constexpr std::uint64_t window_ns = 1'000'000'000;
// Windows begin this often: ten in each second.
constexpr std::uint64_t step_ns = 100'000'000;

struct sample {
  std::uint64_t at;
  std::vector<std::uint64_t> acquisitions;
};

// The fewest acquisitions that any thread made in any window: the shortest spans between two
// samples that are a window long or longer, since the sampler too may be late.
std::uint64_t least_in_a_window(const std::vector<sample>& samples) {
  std::uint64_t least = UINT64_MAX;
  std::size_t end = 0;
  for (const sample& from : samples) {
    while (end < samples.size() && samples[end].at - from.at < window_ns) {
      ++end;
    }
    if (end == samples.size()) {
      break;
    }
    for (std::size_t i = 0; i < from.acquisitions.size(); ++i) {
      least = std::min(least, samples[end].acquisitions[i] - from.acquisitions[i]);
    }
  }
  return least;
}

}  // namespace

int oversubscribe(int argc, char** argv) {
  const options given(
      argc, argv, {{"threads", 2}, {"seconds", 2.5}, {"section-cycles", 100}, {"gap-cycles", 500}});
  const std::uint64_t threads = given.count("threads", 1);
  const auto length = static_cast<std::uint64_t>(given.real("seconds") * 1e9);
  static contest_state a;
  a.section_loops = given.count("section-cycles") / cycles_per_loop;
  a.gap_loops = given.count("gap-cycles") / cycles_per_loop;
  const double loops_per_us = calibrate_loops_per_us();

  contest<progress_tally> contenders(a, threads);
  const switches before = switches_so_far();
  const double used_before = processor_seconds_so_far();
  const std::uint64_t started = now_ns();
  const std::uint64_t started_ticks = ticks();
  std::vector<sample> samples{{started, std::vector<std::uint64_t>(threads)}};
  a.start.open();
  while (samples.back().at - started < length) {
    const std::uint64_t left = started + length - samples.back().at;
    sleep_ns(std::min(left, step_ns));
    std::vector<std::uint64_t> now = contenders.acquisitions();
    samples.push_back({now_ns(), std::move(now)});
  }

  // All is read before the threads are stopped: the last round of a strict queue of spinning
  // threads can itself take longer than the measurement.
  const std::uint64_t longest = longest_wait(contenders.tallies(), threads);
  const std::uint64_t elapsed = samples.back().at - started;
  const double ns_per_tick =
      static_cast<double>(now_ns() - started) / static_cast<double>(ticks() - started_ticks);
  const double used = processor_seconds_so_far() - used_before;
  const switches after = switches_so_far();
  a.stop.store(true);
  result measured("oversubscribe", "measured");
  measured.field("threads", threads)
      .field("began_ns", started)
      .field("seconds", static_cast<double>(elapsed) / 1e9)
      .field("processor_seconds", used)
      .field("acquisitions", sum(samples.back().acquisitions))
      .field("longest_wait_ns", static_cast<double>(longest) * ns_per_tick)
      .field("section_ns", static_cast<double>(a.section_loops) / loops_per_us * 1e3)
      .field("gap_ns", static_cast<double>(a.gap_loops) / loops_per_us * 1e3)
      .field("voluntary", after.voluntary - before.voluntary)
      .field("involuntary", after.involuntary - before.involuntary);
  if (const std::uint64_t least = least_in_a_window(samples); least != UINT64_MAX) {
    measured.field("least_in_a_second", least);
  }
  add_origin(measured);
  measured.print();

  contenders.end("oversubscribe");
  return 0;
}

}  // namespace bench
