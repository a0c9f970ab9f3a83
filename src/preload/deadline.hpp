// Absolute deadlines as POSIX gives them.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "lockwright/env/native/futex.hpp"

namespace lockwright::preload {

inline bool is_valid(const timespec& time) {
  return time.tv_nsec >= 0 && time.tv_nsec < 1'000'000'000;
}

inline bool is_known(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

inline bool is_before(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/// Nanoseconds of `clock` until `deadline`, 0 if it has passed; at most about a
/// hundred years, which can be added to any time.
inline std::uint64_t time_left(clockid_t clock, const timespec& deadline) {
  constexpr std::int64_t longest = 100LL * 365 * 86'400;
  timespec now;
  clock_gettime(clock, &now);
  if (!is_before(now, deadline)) {
    return 0;
  }
  std::int64_t seconds = 0;
  if (__builtin_sub_overflow(deadline.tv_sec, now.tv_sec, &seconds) || seconds > longest) {
    seconds = longest;
  }
  return static_cast<std::uint64_t>(seconds * 1'000'000'000 + deadline.tv_nsec - now.tv_nsec);
}

/// A sequence of short sleeps, each twice as long as the last, up to a deadline.
class naps {
 public:
  naps(clockid_t clock, const timespec& deadline) : clock_(clock), deadline_(deadline) {}

  /// Sleeps for a while; false, at once, if the deadline has passed.
  /// Not a cancellation point, as a timed lock is none.
  bool nap() {
    timespec until;
    clock_gettime(clock_, &until);
    if (!is_before(until, deadline_)) {
      return false;
    }
    until.tv_nsec += length_;
    if (until.tv_nsec >= 1'000'000'000) {
      until.tv_nsec -= 1'000'000'000;
      ++until.tv_sec;
    }
    std::atomic<std::uint32_t> nobody{0};
    native_env::futex_wait_until(nobody, 0, clock_,
                                 is_before(until, deadline_) ? until : deadline_);
    length_ = length_ < longest_ / 2 ? length_ * 2 : longest_;
    return true;
  }

 private:
  // Nanoseconds: about a sleep and a wake at first, and never so long that a
  // free lock lies unused for more than a scheduler's time slice.
  static constexpr long shortest_ = 20'000;
  static constexpr long longest_ = 2'000'000;

  clockid_t clock_;
  timespec deadline_;
  long length_ = shortest_;
};

}  // namespace lockwright::preload
