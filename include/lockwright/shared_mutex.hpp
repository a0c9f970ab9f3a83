// A reader-writer lock of this project with the functions of std::shared_timed_mutex, to use with
// std::shared_lock and std::unique_lock.
#pragma once

#include <chrono>
#include <cstdint>

#include "lockwright/env/native.hpp"
#include "lockwright/rwlock.hpp"
#include "lockwright/rwlock/adaptive_rw.hpp"

namespace lockwright {

/// L: an RwLock over Env. As with the standard's, a thread must not take it for reading twice.
template <class L, class Env>
  requires RwLock<L>
class shared_mutex_of {
 public:
  constexpr shared_mutex_of() = default;
  shared_mutex_of(const shared_mutex_of&) = delete;
  shared_mutex_of& operator=(const shared_mutex_of&) = delete;

  void lock() { lock_.lock_write(); }
  bool try_lock() { return lock_.try_lock_write(); }
  void unlock() { lock_.unlock_write(false); }

  void lock_shared() {
    // The standard has no error for too many readers.
    while (lock_.lock_read(false) != admission::inside) {
      Env::yield();
    }
  }
  bool try_lock_shared() { return lock_.try_lock_read(false) == admission::inside; }
  void unlock_shared() { lock_.unlock_read(); }

  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
    return lock_.try_lock_write_until(deadline_after(time));
  }
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& time) {
    return lock_.lock_read(false, deadline_after(time)) == admission::inside;
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& time) {
    return try_lock_for(time - Clock::now());
  }
  template <class Clock, class Duration>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& time) {
    return try_lock_shared_for(time - Clock::now());
  }

 private:
  template <class Rep, class Period>
  static std::uint64_t deadline_after(const std::chrono::duration<Rep, Period>& time) {
    const std::uint64_t now = Env::now();
    if (time <= time.zero()) {
      return now;
    }
    // A century is as good as for ever, and does not overflow.
    constexpr std::chrono::hours most{24 * 365 * 100};
    const auto wanted = time < most ? std::chrono::ceil<std::chrono::nanoseconds>(time) : most;
    return now + static_cast<std::uint64_t>(wanted.count());
  }

  L lock_{};
};

/// 24 zero bytes without initialisation. For loads that are not known: see docs/rwlocks.md.
using adaptive_shared_mutex = shared_mutex_of<adaptive_rw<native>, native>;

}  // namespace lockwright
