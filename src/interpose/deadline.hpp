// Absolute POSIX deadlines.
#pragma once

#include <errno.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "interpose/program_clock.hpp"
#include "lockwright/env/native/clock.hpp"
#include "lockwright/env/native/futex.hpp"

namespace lockwright::interpose {

inline bool is_valid(const timespec& time) {
  return time.tv_nsec >= 0 && time.tv_nsec < 1'000'000'000;
}

inline bool is_known(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

inline bool is_before(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/// Returns the nanoseconds of `clock` until `deadline`, 0 if it has passed; at most about a hundred
/// years, which can be added to any time.
inline std::uint64_t time_left(deadline_clock clock, const timespec& deadline) {
  constexpr std::int64_t longest = 100LL * 365 * 86'400;
  timespec now;
  if (clock.replaced) {
    clock_gettime(clock.id, &now);
  } else {
    native_env::kernel_clock(clock.id, &now);
  }
  if (!is_before(now, deadline)) {
    return 0;
  }
  std::int64_t seconds = 0;
  if (__builtin_sub_overflow(deadline.tv_sec, now.tv_sec, &seconds) || seconds > longest) {
    seconds = longest;
  }
  return static_cast<std::uint64_t>(seconds * 1'000'000'000 + deadline.tv_nsec - now.tv_nsec);
}

/// Returns the nanoseconds to wait before the clock of a deadline is read again, when the deadline
/// is `left` away. The program's clock may run faster than the kernel's, and the real-time clock
/// may be set meanwhile, for which `longest` is the limit.
inline std::uint64_t wait_before_recheck(std::uint64_t left, deadline_clock clock,
                                         std::uint64_t longest) {
  constexpr std::uint64_t longest_by_program = 10'000'000;
  const std::uint64_t most = clock.replaced ? longest_by_program : longest;
  return left < most ? left : most;
}

/// Returns the time by the kernel's clock `id` in `nanoseconds` from now.
inline timespec kernel_time_in(clockid_t id, std::uint64_t nanoseconds) {
  timespec time;
  native_env::kernel_clock(id, &time);
  const std::uint64_t sum = static_cast<std::uint64_t>(time.tv_nsec) + nanoseconds;
  time.tv_sec += static_cast<time_t>(sum / 1'000'000'000);
  time.tv_nsec = static_cast<long>(sum % 1'000'000'000);
  return time;
}

/// Returns true for times before 1970, which the kernel refuses and which have all passed.
inline bool is_refused(deadline_clock clock, const timespec& deadline) {
  return !clock.replaced && deadline.tv_sec < 0;
}

/// Returns attempt(deadline by the kernel's clock), a call of the C library with the results of
/// pthread_mutex_timedlock(). Repeats it until the deadline has passed by the program's clock.
template <class Attempt>
int library_until(deadline_clock clock, const timespec* deadline, Attempt attempt) {
  if (!clock.replaced || !is_known(clock.id) || !is_valid(*deadline)) {
    return attempt(deadline);
  }
  for (;;) {
    const std::uint64_t left = time_left(clock, *deadline);
    const timespec until = kernel_time_in(clock.id, wait_before_recheck(left, clock, left));
    const int result = attempt(&until);
    if (result != ETIMEDOUT || left == 0) {
      return result;
    }
  }
}

}  // namespace lockwright::interpose
