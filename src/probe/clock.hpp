// The processor's clock: read in some nanoseconds, the same for all processors.
#pragma once

#include <sched.h>
#include <time.h>

#include <cstdint>

namespace lockwright::probe {

inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  std::uint64_t now = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#endif
}

/// The processor that the caller runs on, and its clock.
inline std::uint64_t ticks_on(std::uint32_t& processor) {
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

/// 0 if the processor does not say.
inline std::uint64_t ticks_per_second() {
#if defined(__x86_64__)
  return 0;
#else
  std::uint64_t frequency = 0;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
  return frequency;
#endif
}

/// Near enough for deciding how often to look.
inline std::uint64_t ticks_per_microsecond() {
#if defined(__x86_64__)
  return 2500;
#else
  return ticks_per_second() / 1000000 + 1;
#endif
}

inline std::uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// What the processor's clock and the monotonic one show at the same time.
struct instant {
  std::uint64_t ticks;
  std::uint64_t ns;
};

/// To some microseconds, also where the caller is interrupted between the two: then it looks again.
/// Not for ever, since there may be clocks that are so slow to read.
inline instant both_clocks() {
  for (int more = 8;; --more) {
    const std::uint64_t before = ticks();
    const std::uint64_t ns = monotonic_ns();
    const std::uint64_t passed = ticks() - before;
    if (passed < 5 * ticks_per_microsecond() || more == 0) {
      return {.ticks = before + passed / 2, .ns = ns};
    }
  }
}

}  // namespace lockwright::probe
