// The processor's clock, which is read in nanoseconds and the same on all processors.
#pragma once

#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "lockwright/env/native/sandbox.hpp"

namespace lockwright::probe {

/// The processor's clock and the monotonic one at the same time.
struct instant {
  std::uint64_t ticks;
  std::uint64_t ns;
};

/// When the library was loaded, and when a thread was about to lose the processor's clock
/// (PR_SET_TSC, or a strict sandbox); zero before.
inline constinit instant at_load{};
inline constinit instant at_loss{};
inline constinit std::atomic<bool> is_counter_left{false};

inline std::uint64_t monotonic_ns() {
  timespec now;
  native_env::kernel_clock(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// The clock that the processor's would be, by the kernel's.
[[gnu::noinline, gnu::cold]] inline std::uint64_t ticks_by_kernel() {
  const double rate = static_cast<double>(at_loss.ticks - at_load.ticks) /
                      static_cast<double>(at_loss.ns - at_load.ns + 1);
  const auto passed = static_cast<std::int64_t>(monotonic_ns() - at_loss.ns);
  return at_loss.ticks +
         static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<double>(passed) * rate));
}

inline std::uint64_t ticks() {
  // Acquire pairs with the release in leave_counter().
  if (is_counter_left.load(std::memory_order_acquire)) [[unlikely]] {
    return ticks_by_kernel();
  }
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  std::uint64_t now = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#endif
}

/// Returns the clock, and sets `processor` to the caller's.
inline std::uint64_t ticks_on(std::uint32_t& processor) {
  if (is_counter_left.load(std::memory_order_acquire)) [[unlikely]] {
    processor = static_cast<std::uint32_t>(sched_getcpu());
    return ticks_by_kernel();
  }
#if defined(__x86_64__)
  unsigned number = 0;
  const std::uint64_t now = __builtin_ia32_rdtscp(&number);
  processor = number & 0xfff;
  return now;
#else
  processor = static_cast<std::uint32_t>(sched_getcpu());
  return ticks();
#endif
}

/// Returns the clock's frequency; 0 if the processor does not give it.
inline std::uint64_t ticks_per_second() {
#if defined(__x86_64__)
  return 0;
#else
  std::uint64_t frequency = 0;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
  return frequency;
#endif
}

/// Returns an approximate frequency, exact enough for sampling intervals.
inline std::uint64_t ticks_per_microsecond() {
#if defined(__x86_64__)
  return 2500;
#else
  return ticks_per_second() / 1000000 + 1;
#endif
}

/// Reads both clocks, to within microseconds: again if the caller was interrupted in between, but
/// not forever, since some clocks are slow to read.
inline instant both_clocks() {
  for (int retries = 8;; --retries) {
    const std::uint64_t before = ticks();
    const std::uint64_t ns = monotonic_ns();
    const std::uint64_t passed = ticks() - before;
    if (passed < 5 * ticks_per_microsecond() || retries == 0) {
      return {.ticks = before + passed / 2, .ns = ns};
    }
  }
}

/// Called before the processor's clock is lost.
inline void leave_counter() {
  if (!is_counter_left.load(std::memory_order_relaxed)) {
    at_loss = both_clocks();
    native_env::kernel_clock = &native_env::clock_without_counter;
    is_counter_left.store(true, std::memory_order_release);
  }
}

}  // namespace lockwright::probe
