// A condition variable that replaces the C library's.
#pragma once

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>

#include "interpose/real.hpp"
#include "lockwright/parts/three_state.hpp"
#include "preload/append.hpp"
#include "preload/basic_condvar.hpp"
#include "preload/counting.hpp"
#include "preload/fork.hpp"
#include "preload/mutex.hpp"

namespace lockwright::preload {

using interpose::real;

/// The layout, over the first bytes of the C library's pthread_cond_t:
///
///   bytes | meaning                                  | written by
///   0-3   | guard of the queue                       | see three_state.hpp
///   4-7   | clock of timed waits                     | initialisation
///   8-23  | the waiters, see waiter_queue.hpp        | under the guard
///   24-27 | generation, see fork.hpp                 | initialisation, adopt()
///   28-31 | zero: the C library's __wrefs lies here  | initialisation
///         | from 2.41 on, and later before that      |
///
/// Zeroed memory is a condition variable with the real-time clock and no waiters.
class condvar : public basic_condvar<environment, mutex> {
  using base = basic_condvar<environment, mutex>;

 public:
  static condvar& of(pthread_cond_t* cond) {
    auto& self = *reinterpret_cast<condvar*>(cond);
    // Acquire pairs with the release in adopt(), which makes the empty queue visible.
    if (self.generation_.load(std::memory_order_acquire) != generation) [[unlikely]] {
      self.adopt();
    }
    return self;
  }

  /// Returns true if it is process-shared, which leaves it to the C library as long as the mutexes
  /// used with it are.
  static bool is_shared(const pthread_cond_t* cond) {
    return (__atomic_load_n(&cond->__data.__wrefs, __ATOMIC_RELAXED) & shared_bit) != 0;
  }

  /// Returns the clock of a condition variable that is_shared().
  static clockid_t clock_of_shared(const pthread_cond_t* cond) {
    const unsigned flags = __atomic_load_n(&cond->__data.__wrefs, __ATOMIC_RELAXED);
    return (flags & monotonic_bit) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  }

  explicit condvar(clockid_t clock) : base(clock, generation) {}

  [[nodiscard]] clockid_t clock() const { return clock_ & ~shared_flag; }

  /// Converts a process-shared condition variable before a wait: it has to be the C library's if
  /// the mutex is. All concurrent waiters have the same mutex, so none waits during the conversion,
  /// and a concurrent signal finds no waiter in either form.
  static void match_library(pthread_cond_t* cond, bool library) {
    if (is_shared(cond) == library) {
      return;
    }
    if (!library || (of(cond).clock_ & shared_flag) != 0) {
      convert(cond, library);
    }
  }

  /// Enqueues a waiter, at the head if it polls.
  void enqueue_by_setting(waiter& self, bool polls) {
    base::enqueue(self, !polls && append_to_condvar.append());
  }

 private:
  // Bit 0 of the C library's __wrefs, set by its initialiser for process-shared condition
  // variables; no code here changes it.
  static constexpr unsigned shared_bit = 1;

  // A flag in clock_: the program initialised the condition variable as process-shared.
  static constexpr clockid_t shared_flag = 1 << 8;
  // The C library's bit for the monotonic clock, beside shared_bit.
  static constexpr unsigned monotonic_bit = 2;

  [[gnu::noinline]] static void convert(pthread_cond_t* cond, bool library) {
    adopting.lock();
    if (is_shared(cond) && !library) {
      const clockid_t clock = clock_of_shared(cond);
      std::memset(static_cast<void*>(cond), 0, sizeof *cond);
      ::new (static_cast<void*>(cond)) condvar(clock | shared_flag);
    } else if (!is_shared(cond) && library) {
      pthread_condattr_t attributes;
      pthread_condattr_init(&attributes);
      pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
      pthread_condattr_setclock(&attributes,
                                reinterpret_cast<condvar*>(cond)->clock_ & ~shared_flag);
      real.cond_init(cond, &attributes);
    }
    adopting.unlock();
  }

  /// Empties the queue at the first use after a fork: its waiters are the parent's.
  [[gnu::noinline]] void adopt() {
    adopting.lock();
    if (generation_.load(std::memory_order_relaxed) != generation) {
      ::new (&guard_) three_state<environment>();
      ::new (&queue_) waiter_queue();
      generation_.store(generation, std::memory_order_release);
    }
    adopting.unlock();
  }

  static constexpr void check_layout() {
    static_assert(sizeof(condvar) == 32 && sizeof(clockid_t) == 4);
    static_assert(offsetof(condvar, zero_) <= offsetof(pthread_cond_t, __data.__wrefs));
  }
};

}  // namespace lockwright::preload
