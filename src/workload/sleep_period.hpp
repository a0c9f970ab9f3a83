// One thread wakes another at a fixed period: do such short sleeps save anything?
#pragma once

#include <algorithm>
#include <atomic>
#include <climits>

#include "description.hpp"

namespace lockwright::workloads {

template <class Env>
struct waker_and_sleeper {
  explicit waker_and_sleeper(const typename Env::settings& given) : calls{given} {}

  static std::uint64_t helpers() { return 1; }

  struct alignas(cache_line_pair) thread_state {
    thread_state(waker_and_sleeper& /*w*/, const typename Env::settings& given, std::size_t index)
        : wakes{index == 0}, period{given.length("period")} {}
    bool wakes;
    std::uint64_t period;
  };

  // The first one wakes, the helper sleeps; others sleep, too.
  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    if (!me.wakes) {
      Env::wait(calls, calls.value.load());
      return 0;
    }
    meter.work(me.period);
    calls.value.fetch_add(1);
    woken.fetch_add(Env::wake(calls, 1) > 0 ? 1 : 0, std::memory_order_relaxed);
    return 1;
  }

  void release_waiters() {
    calls.value.fetch_add(1);
    Env::wake(calls, INT_MAX);
  }

  // From the start, the warm-up with it.
  template <class Line, class Record>
  void report(Line& line, const Record& done) const {
    const double share =
        static_cast<double>(woken.load()) / std::max(1.0, static_cast<double>(calls.value.load()));
    line.field("wakes_per_second", share * static_cast<double>(done.operations) / done.seconds)
        .field("asleep_share", share);
  }

  static std::uint64_t taken() { return 0; }

  typename Env::word calls;
  std::atomic<std::uint64_t> woken{0};
};

inline const description sleep_period{
    .name = "sleep-period",
    .measures = "a thread that sleeps, and one that wakes it at a fixed period",
    .source =
        "Falsafi et al., Unlocking Energy, ATC 2016, section 4.4, the table of power by period",
    .operation = "wake calls",
    .threads = 1,
    .parameters = {{"period-cycles", 1024, "cycles",
                    "work between two wake calls; the paper has 1024 to 8192"}},
    .figures = {{"wakes_per_second", "wakes/s", "calls that found the thread asleep, per second"},
                {"asleep_share", "asleep", "share of the wake calls that found it asleep"}},
    .uses_lock = false,
};

}  // namespace lockwright::workloads
