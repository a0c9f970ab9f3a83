// The processor's clock: read in some nanoseconds, the same for all processors.
#pragma once

#include <sched.h>
#include <time.h>

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace lockwright::probe {

inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
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
  const std::uint64_t now = __rdtscp(&number);
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

}  // namespace lockwright::probe
