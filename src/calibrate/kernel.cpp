// Durations of kernel operations that locks use: failed futex calls, yields, context switches, barriers
// on all processors, time slices, and whether a woken thread preempts. `lockwright calibrate
// --machine` writes them into a machine file.
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "lockwright/env/native.hpp"
#include "probes.hpp"
#include "trials.hpp"

namespace bench {
namespace {

// Nanoseconds of one step, over batches of 100.
template <class Step>
void time_batches(trials& found, int batches, Step step) {
  constexpr int batch = 100;
  for (int i = 0; i < batches; ++i) {
    const std::uint64_t began = now_ns();
    for (int n = 0; n < batch; ++n) {
      step();
    }
    found.add(static_cast<double>(now_ns() - began) / batch);
  }
}

// Runs `body` while a thread on that CPU does `step` again and again.
template <class Step, class Body>
void run_beside(std::int64_t cpu, Step step, Body body) {
  std::atomic<bool> over{false};
  other_thread other(cpu, [&] {
    while (!over.load(std::memory_order_relaxed)) {
      step();
    }
  });
  other.start();
  body();
  over.store(true);
  other.join();
}

// Adds the time slices of this thread, which shares its processor with others, in nanoseconds.
void time_slices(trials& found, std::uint64_t longest_ns, std::uint64_t gap_ns) {
  const std::uint64_t began = now_ns();
  std::uint64_t slice_began = began;
  std::uint64_t last = began;
  bool is_whole = false;
  while (last - began < longest_ns) {
    const std::uint64_t now = now_ns();
    if (now - last > gap_ns) {
      if (is_whole) {
        found.add(static_cast<double>(last - slice_began));
      }
      is_whole = true;
      slice_began = now;
    }
    last = now;
  }
}

}  // namespace

int kernel(const options& given) {
  const auto batches = static_cast<int>(given.count("batches", 1));
  const auto first = given.processor("cpu-a");
  const auto second = given.processor("cpu-b");
  alignas(cache_line_pair) static std::atomic<std::uint32_t> own{0};
  pin_to(first);
  trials miss, wake_miss, contended_miss, yield, switched, barrier, slice;
  time_batches(miss, batches, [] { futex_wait(own, 1); });
  time_batches(wake_miss, batches, [] { futex_wake(own, 1); });
  time_batches(yield, batches, [] { sched_yield(); });
  const auto fail_to_wait = [] { futex_wait(own, 1); };
  run_beside(second, fail_to_wait, [&] { time_batches(contended_miss, batches, fail_to_wait); });
  run_beside(first, sched_yield, [&] { time_batches(switched, batches, [] { sched_yield(); }); });
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) {
    run_beside(second, lockwright::native::relax, [&] {
      time_batches(barrier, batches / 4 + 1,
                   [] { syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0); });
    });
  }
  // Shorter gaps are interrupts.
  constexpr std::uint64_t shortest_absence_ns = 300'000;
  run_beside(first, lockwright::native::relax, [&] {
    time_slices(slice, static_cast<std::uint64_t>(given.real("seconds") * 1e9),
                shortest_absence_ns);
  });
  result line("kernel", "result");
  miss.print(line, "failed_wait");
  wake_miss.print(line, "failed_wake");
  contended_miss.print(line, "contended_wait");
  yield.print(line, "yield");
  // A round is two yields, of this thread and of the other, and two switches.
  switched.print(line, "yield_round");
  barrier.print(line, "membarrier");
  slice.print(line, "slice");
  line.print();
  return 0;
}

// Durations from a wake to the woken thread's first instruction, on a processor where another thread
// has run since the sleeper left it.
int preempt(const options& given) {
  alignas(cache_line_pair) static std::atomic<std::uint32_t> wakes{0};
  alignas(cache_line_pair) static std::atomic<std::uint64_t> asleep_at{0};
  alignas(cache_line_pair) static std::atomic<std::uint64_t> ran_at{0};
  const std::uint64_t delay = given.count("delay-ns");
  const auto naps = static_cast<std::uint32_t>(given.count("naps", 1));
  const std::int64_t cpu = given.processor("cpu-b");
  other_thread sleeper(cpu, [&] {
    for (std::uint32_t i = 0; i < naps; ++i) {
      asleep_at.store(now_ns());
      while (wakes.load() == i) {
        futex_wait(wakes, i);
      }
      ran_at.store(now_ns());
    }
  });
  pin_to(given.processor("cpu-a"));
  trials turnaround;
  run_beside(cpu, lockwright::native::relax, [&] {
    sleeper.start();
    for (std::uint32_t i = 0; i < naps; ++i) {
      while (asleep_at.load() == 0) {
      }
      const std::uint64_t asleep = asleep_at.exchange(0);
      while (now_ns() - asleep < delay) {
      }
      ran_at.store(0);
      const std::uint64_t called = now_ns();
      wakes.store(i + 1);
      futex_wake(wakes, 1);
      while (ran_at.load() == 0) {
      }
      turnaround.add(static_cast<double>(ran_at.load() - called));
    }
  });
  sleeper.join();
  result line("preempt", "result");
  line.field("delay_ns", delay);
  turnaround.print(line, "turnaround");
  line.print();
  return 0;
}

}  // namespace bench
