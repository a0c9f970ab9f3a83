// A POSIX mutex of the C library, which performs every operation. This layer adds the queue of
// signalled waiters and the counting, as for every other lock.
#pragma once

#include <errno.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "interpose/thread_number.hpp"
#include "preload/counting.hpp"
#include "preload/kind.hpp"
#include "preload/library_wait.hpp"
#include "preload/metrics.hpp"
#include "preload/poll_library.hpp"
#include "preload/waiter_types.hpp"

namespace lockwright::preload {

using interpose::deadline_clock;
using interpose::real;
using interpose::thread_number;

/// The layout is the C library's. Two words of it are used by robust mutexes only and free in all
/// others:
///
///   bytes | meaning                                                | written by
///   24-31 | signalled waiters                                      | see signalled_queue
///   32-35 | counted: 1 once the mutex has been locked              | the holder
class library_mutex {
 public:
  using object = pthread_mutex_t;
  static constexpr bool waiters_park(pthread_mutex_t*) { return true; }

  static library_mutex& of(pthread_mutex_t* mutex) {
    return *reinterpret_cast<library_mutex*>(mutex);
  }

  static int init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
    return real.mutex_init(mutex, attributes);
  }

  static int destroy(pthread_mutex_t* mutex) { return real.mutex_destroy(mutex); }

  [[gnu::always_inline]] static int lock(pthread_mutex_t* mutex) {
    return lock_from(mutex, LOCKWRIGHT_CALLER);
  }

  [[gnu::always_inline]] static int lock_from(pthread_mutex_t* mutex, std::uint64_t caller) {
    return counting || measures_waits() ? lock_after_trylock(mutex, caller)
                                        : real.mutex_lock(mutex);
  }

  static int trylock(pthread_mutex_t* mutex) {
    int result = real.mutex_trylock(mutex);
    of(mutex).count_result(result, false);
    if (result == EBUSY) {
      count(event::trylock_failed);
    }
    return result;
  }

  static int busylock(pthread_mutex_t* mutex) {
    bool waited = false;
    const int result = poll_library(mutex, waited);
    of(mutex).count_result(result, waited);
    return result;
  }

  [[gnu::always_inline]] static int clocklock(pthread_mutex_t* mutex, deadline_clock clock,
                                              const timespec* deadline) {
    return clocklock_from(mutex, clock, deadline, LOCKWRIGHT_CALLER);
  }

  static int clocklock_from(pthread_mutex_t* mutex, deadline_clock clock, const timespec* deadline,
                            std::uint64_t caller) {
    bool waited = false;
    if (counting || measures_waits()) {
      int result = real.mutex_trylock(mutex);
      if (result != EBUSY) {
        of(mutex).count_result(result, false);
        return result;
      }
      waited = true;
    }
    const measured_wait wait(waited ? measured_caller(mutex, caller) : 0);
    int result = lock_library_until(mutex, clock, deadline);
    of(mutex).count_result(result, waited);
    return result;
  }

  static int unlock(pthread_mutex_t* mutex) {
    if (of(mutex).signalled_.empty() || is_left_to_library(mutex)) [[likely]] {
      return real.mutex_unlock(mutex);
    }
    return unlock_and_grant(mutex);
  }

  static int may_wait(pthread_mutex_t* mutex) {
    kind_word kind = of(mutex).kind_.load(std::memory_order_relaxed);
    return !is_library(kind) && knows_owner(kind) && !is_held_by_caller(mutex) ? EPERM : 0;
  }

  static bool is_left_to_library(pthread_mutex_t* mutex) {
    return is_library(of(mutex).kind_.load(std::memory_order_relaxed));
  }

  static bool is_held_by_caller(pthread_mutex_t* mutex) {
    return of(mutex).owner_.load(std::memory_order_relaxed) == thread_number();
  }

  static signalled_queue* signalled(pthread_mutex_t* mutex) {
    return is_left_to_library(mutex) ? nullptr : &of(mutex).signalled_;
  }

  static bool stays_locked_in_wait(pthread_mutex_t* mutex) {
    return type_of(of(mutex).kind_.load(std::memory_order_relaxed)) == recursive &&
           of(mutex).depth_ > 1;
  }

  static int release(pthread_mutex_t* mutex, bool& is_counted) {
    return release_library(mutex, is_counted, unlock);
  }

  static int reacquire(pthread_mutex_t* mutex, bool is_counted) {
    return reacquire_library(mutex, is_counted);
  }

 private:
  [[gnu::noinline]] static int lock_after_trylock(pthread_mutex_t* mutex, std::uint64_t caller) {
    int result = real.mutex_trylock(mutex);
    const bool waited = result == EBUSY;
    if (waited) {
      const measured_wait wait(measured_caller(mutex, caller));
      result = real.mutex_lock(mutex);
    }
    of(mutex).count_result(result, waited);
    return result;
  }

  /// Returns 0 for a mutex that every lock leaves to the C library: its waits are not measured.
  static std::uint64_t measured_caller(pthread_mutex_t* mutex, std::uint64_t caller) {
    return is_left_to_library(mutex) ? 0 : caller;
  }

  [[gnu::noinline]] static int unlock_and_grant(pthread_mutex_t* mutex) {
    library_mutex& self = of(mutex);
    kind_word kind = self.kind_.load(std::memory_order_relaxed);
    bool keeps_mutex = knows_owner(kind) && (!is_held_by_caller(mutex) ||
                                             (type_of(kind) == recursive && self.depth_ > 1));
    waiter* next = keeps_mutex ? nullptr : self.signalled_.pop();
    int result = real.mutex_unlock(mutex);
    if (next != nullptr) {
      next->grant();
    }
    return result;
  }

  void count_result(int result, bool waited) {
    if constexpr (counting) {
      if (result != 0 && result != EOWNERDEAD) {
        return;
      }
      if (is_library(kind_.load(std::memory_order_relaxed))) {
        count(event::left_to_library);
        return;
      }
      count(event::acquired);
      if (waited) {
        count(event::contended);
      }
      if (counted_ == 0) {
        counted_ = 1;
        count(event::mutex_used);
      }
    }
  }

  [[maybe_unused]] std::uint32_t word_;
  std::uint32_t depth_;
  std::atomic<std::uint32_t> owner_;
  [[maybe_unused]] std::uint32_t users_;
  std::atomic<kind_word> kind_;
  [[maybe_unused]] std::uint32_t spins_;
  signalled_queue signalled_;
  std::uint32_t counted_;

  static constexpr void check_layout() {
    static_assert(sizeof(library_mutex) <= sizeof(pthread_mutex_t));
    static_assert(offsetof(library_mutex, owner_) == owner_offset);
    static_assert(offsetof(library_mutex, kind_) == kind_offset);
    static_assert(offsetof(library_mutex, signalled_) == offsetof(pthread_mutex_t, __data.__list));
    static_assert(offsetof(library_mutex, depth_) == offsetof(pthread_mutex_t, __data.__count));
  }
};

}  // namespace lockwright::preload
