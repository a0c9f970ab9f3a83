// Durations of the operations that locks are made of: a pause, the transfer of a cache line, a
// sleep and a wake. `lockwright calibrate` derives the locks' settings from them; no lock is used.
#include <sched.h>

#include <algorithm>
#include <vector>

#include "lockwright/env/native.hpp"
#include "probes.hpp"
#include "wakes.hpp"

namespace bench {
namespace {

double median(std::vector<std::uint64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

// Nanoseconds per step in the fastest of many short trials: disturbances only slow a trial down.
template <class Step>
double fastest(std::uint64_t steps, Step step) {
  constexpr int trials = 100;
  std::uint64_t best = UINT64_MAX;
  for (int i = 0; i < trials; ++i) {
    const std::uint64_t started = now_ns();
    step(steps);
    best = std::min(best, now_ns() - started);
  }
  return static_cast<double>(best) / static_cast<double>(steps);
}

constexpr std::uint64_t longest_busy_delay_ns = 200'000;

std::uint64_t await_time(std::atomic<std::uint64_t>& time) {
  for (;;) {
    if (const std::uint64_t seen = time.load(); seen != 0) {
      return seen;
    }
    sched_yield();
  }
}

}  // namespace

int pause(const options& given) {
  const std::uint64_t steps = given.count("steps", 1);
  const double pause_ns = fastest(steps, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      lockwright::native::relax();
    }
  });
  const double turn_ns = fastest(10 * steps, [](std::uint64_t n) {
    lockwright::native::delay(static_cast<std::uint32_t>(n));
  });
  const double clock_ns = fastest(steps, [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      now_ns();
    }
  });
  result("pause", "result")
      .field("pause_ns", pause_ns)
      .field("turn_ns", turn_ns)
      .field("clock_ns", clock_ns)
      .print();
  return 0;
}

int transfer(const options& given) {
  // Two threads on different processors write it in turn.
  alignas(cache_line_pair) static std::atomic<std::uint32_t> line{0};
  // In batches, since reading the clock takes about as long as a trip; the fastest counts,
  // since in the others one of the two may not have run.
  constexpr std::uint32_t batch = 200;
  const auto trips = static_cast<std::uint32_t>(given.count("trips", 1)) / batch * batch + batch;
  other_thread other(given.processor("cpu-b"), [&] {
    for (std::uint32_t i = 0; i < trips; ++i) {
      while (line.load(std::memory_order_acquire) != 2 * i + 1) {
      }
      line.store(2 * i + 2, std::memory_order_release);
    }
  });
  pin_to(given.processor("cpu-a"));
  other.start();
  std::vector<std::uint64_t> took;
  std::uint64_t started = now_ns();
  for (std::uint32_t i = 0; i < trips; ++i) {
    line.store(2 * i + 1, std::memory_order_release);
    while (line.load(std::memory_order_acquire) != 2 * i + 2) {
    }
    if (i % batch == batch - 1) {
      const std::uint64_t now = now_ns();
      took.push_back(now - started);
      started = now;
    }
  }
  other.join();
  // Two transfers a trip, there and back.
  result("transfer", "result")
      .field("transfer_ns",
             static_cast<double>(*std::min_element(took.begin(), took.end())) / (2.0 * batch))
      .field("median_ns", median(took) / (2.0 * batch))
      .print();
  return 0;
}

wake_times measure_wakes(const wake_request& request) {
  alignas(cache_line_pair) static std::atomic<std::uint32_t> wakes{0};
  alignas(cache_line_pair) static std::atomic<std::uint64_t> slept_at{0};  // 0 once seen
  static std::atomic<std::uint64_t> woken_at{0};                           // likewise
  static std::atomic<bool> over{false};
  const auto longest = static_cast<std::uint64_t>(request.seconds * 1e9);
  other_thread sleeper(request.sleeper_cpu, [] {
    for (std::uint32_t i = 0; !over.load(); ++i) {
      slept_at.store(now_ns());
      while (wakes.load() == i) {
        futex_wait(wakes, i);
      }
      woken_at.store(now_ns());
      while (woken_at.load() != 0) {
        sched_yield();
      }
    }
  });
  pin_to(request.waker_cpu);
  sleeper.start();
  std::vector<std::uint64_t> sleep_ns_each;
  std::vector<std::uint64_t> wake_ns;
  std::vector<std::uint64_t> turnaround_ns;
  const std::uint64_t started = now_ns();
  // Fewer on a busy machine.
  for (std::uint32_t i = 0; !over.load(); ++i) {
    // On one processor this thread runs again when the other has gone to sleep.
    const std::uint64_t went = await_time(slept_at);
    const std::uint64_t seen = now_ns();
    sleep_ns_each.push_back(seen > went ? seen - went : 0);
    slept_at.store(0);
    // A short sleep of this thread would take longer than requested.
    if (request.delay_ns > longest_busy_delay_ns) {
      sleep_ns(request.delay_ns);
    } else {
      for (const std::uint64_t from = now_ns(); now_ns() - from < request.delay_ns;) {
      }
    }
    const std::uint64_t called = now_ns();
    wakes.store(i + 1);
    futex_wake(wakes, 1);
    wake_ns.push_back(now_ns() - called);
    turnaround_ns.push_back(await_time(woken_at) - called);
    over.store(i + 1 == request.count || now_ns() - started >= longest);
    woken_at.store(0);
  }
  sleeper.join();
  return {wake_ns.size(), median(sleep_ns_each), median(wake_ns), median(turnaround_ns)};
}

int sleep(const options& given) {
  const std::uint64_t delay = given.count("delay-ns");
  const wake_times times = measure_wakes({.count = given.count("naps", 1),
                                          .seconds = given.real("seconds"),
                                          .delay_ns = delay,
                                          .sleeper_cpu = given.processor("cpu-b"),
                                          .waker_cpu = given.processor("cpu-a")});
  result("sleep", "result")
      .field("delay_ns", delay)
      .field("naps", times.count)
      .field("sleep_ns", times.sleep)
      .field("wake_ns", times.wake)
      .field("turnaround_ns", times.turnaround)
      .print();
  return 0;
}

}  // namespace bench
