// Durations of kernel operations that locks use: failed futex calls, yields, context switches, barriers
// on all processors, time slices, and whether a woken thread preempts. `lockwright calibrate
// --machine` writes them into a machine file.
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "probes.hpp"
#include "lockwright/env/native.hpp"
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

struct helper_state {
  alignas(cache_line_pair) std::atomic<bool> over{false};
  alignas(cache_line_pair) std::atomic<std::uint32_t> word{0};
  std::int64_t cpu = -1;
  gate start;
};

void* yield_repeatedly(void* at) {
  helper_state& s = *static_cast<helper_state*>(at);
  pin_to(s.cpu);
  s.start.pass();
  while (!s.over.load(std::memory_order_relaxed)) {
    sched_yield();
  }
  return nullptr;
}

void* run_busily(void* at) {
  helper_state& s = *static_cast<helper_state*>(at);
  pin_to(s.cpu);
  s.start.pass();
  while (!s.over.load(std::memory_order_relaxed)) {
    lockwright::native::relax();
  }
  return nullptr;
}

void* fail_to_wait(void* at) {
  helper_state& s = *static_cast<helper_state*>(at);
  pin_to(s.cpu);
  s.start.pass();
  while (!s.over.load(std::memory_order_relaxed)) {
    futex_wait(s.word, 1);
  }
  return nullptr;
}

// Runs `body` while another thread runs `work`.
template <class Body>
void run_beside(void* (*work)(void*), helper_state& s, std::int64_t cpu, Body body) {
  s.cpu = cpu;
  s.over.store(false);
  pthread_t other;
  must(pthread_create(&other, nullptr, work, &s), "pthread_create");
  s.start.await(1);
  s.start.open();
  body();
  s.over.store(true);
  must(pthread_join(other, nullptr), "pthread_join");
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
  static helper_state first_state, second_state, third_state, fourth_state;
  static std::atomic<std::uint32_t> own{0};
  pin_to(first);
  trials miss, wake_miss, contended_miss, yield, switched, barrier, slice;
  time_batches(miss, batches, [] { futex_wait(own, 1); });
  time_batches(wake_miss, batches, [] { futex_wake(own, 1); });
  time_batches(yield, batches, [] { sched_yield(); });
  run_beside(fail_to_wait, first_state, second, [&] {
    time_batches(contended_miss, batches, [] { futex_wait(first_state.word, 1); });
  });
  run_beside(yield_repeatedly, second_state, first,
             [&] { time_batches(switched, batches, [] { sched_yield(); }); });
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) {
    run_beside(run_busily, third_state, second, [&] {
      time_batches(barrier, batches / 4 + 1,
                   [] { syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0); });
    });
  }
  // Shorter gaps are interrupts.
  constexpr std::uint64_t shortest_absence_ns = 300'000;
  run_beside(run_busily, fourth_state, first, [&] {
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

namespace {

struct preempting_state {
  alignas(cache_line_pair) std::atomic<std::uint32_t> wakes{0};
  alignas(cache_line_pair) std::atomic<std::uint64_t> asleep_at{0};
  alignas(cache_line_pair) std::atomic<std::uint64_t> ran_at{0};
  std::atomic<bool> over{false};
  std::int64_t cpu = -1;
  gate start;
};

void* sleep_until_woken(void* at) {
  preempting_state& s = *static_cast<preempting_state*>(at);
  pin_to(s.cpu);
  s.start.pass();
  for (std::uint32_t i = 0; !s.over.load(); ++i) {
    s.asleep_at.store(now_ns());
    while (s.wakes.load() == i) {
      futex_wait(s.wakes, i);
    }
    s.ran_at.store(now_ns());
  }
  return nullptr;
}

}  // namespace

// Durations from a wake to the woken thread's first instruction, on a processor where another thread
// has run since the sleeper left it.
int preempt(const options& given) {
  static preempting_state s;
  static helper_state busy;
  s.cpu = given.processor("cpu-b");
  const std::uint64_t delay = given.count("delay-ns");
  const auto naps = static_cast<std::uint32_t>(given.count("naps", 1));
  pthread_t sleeper;
  must(pthread_create(&sleeper, nullptr, sleep_until_woken, &s), "pthread_create");
  pin_to(given.processor("cpu-a"));
  s.start.await(1);
  trials turnaround;
  run_beside(run_busily, busy, s.cpu, [&] {
    s.start.open();
    for (std::uint32_t i = 0; i < naps; ++i) {
      while (s.asleep_at.load() == 0) {
      }
      const std::uint64_t asleep = s.asleep_at.exchange(0);
      while (now_ns() - asleep < delay) {
      }
      s.ran_at.store(0);
      s.over.store(i + 1 == naps);
      const std::uint64_t called = now_ns();
      s.wakes.store(i + 1);
      futex_wake(s.wakes, 1);
      while (s.ran_at.load() == 0) {
      }
      turnaround.add(static_cast<double>(s.ran_at.load() - called));
    }
  });
  must(pthread_join(sleeper, nullptr), "pthread_join");
  result line("preempt", "result");
  line.field("delay_ns", delay);
  turnaround.print(line, "turnaround");
  line.print();
  return 0;
}

}  // namespace bench
