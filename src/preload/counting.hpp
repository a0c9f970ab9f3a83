// The events that a counting library counts in the file that LOCKWRIGHT_STATS names. In a plain
// library the counting functions are empty.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/env/native.hpp"
#include "preload/generation.hpp"
#include "preload/watch.hpp"

#ifndef LOCKWRIGHT_COUNTING
#define LOCKWRIGHT_COUNTING 0
#endif

namespace lockwright::preload {

inline constexpr bool counting = LOCKWRIGHT_COUNTING != 0;

enum class event : std::uint8_t {
  mutex_used,       ///< a mutex acquired for the first time since its initialisation
  acquired,         ///< a lock, trylock or timed lock that succeeded
  contended,        ///< ... and had found the mutex held
  cond_waited,      ///< a condition variable wait that blocked or timed out
  trylock_failed,   ///< a trylock that found the mutex held
  futex_wait,       ///< a call into the kernel to sleep
  futex_wake,       ///< a call into the kernel to wake
  left_to_library,  ///< an acquisition of a mutex that is left to the C library
  read_locked,      ///< an acquisition of one of our reader-writer locks, by a reader
  write_locked,     ///< ... by a writer
  spin_locked,      ///< an acquisition of one of our spin locks
  rwlock_left,      ///< a call to acquire a reader-writer lock that is left to the C library
};

#if LOCKWRIGHT_COUNTING

/// Adds one to the counter of the calling thread's stripe, atomically.
void count(event what);
/// Counts this process, once, whichever programs it executes.
void count_process();
void count_unresolved(std::uint64_t names);

#else

inline void count(event) {}
inline void count_process() {}
inline void count_unresolved(std::uint64_t) {}

#endif

/// True while the calling thread is in a lock call that must neither park nor yield. Read only
/// where it would otherwise do so.
inline constinit thread_local bool must_not_park = false;

/// The native environment, with futex calls counted. A waiter that must not park polls at its place
/// in the algorithm's queue: to the algorithm these are spurious wake-ups.
struct environment : native {
  /// Returns the stamp of this process's objects, in bits 31-16.
  static std::uint32_t stamp() { return generation; }

  /// Returns true if a race detector runs in this process.
  static bool is_watched() { return preload::is_watched(); }

  static void yield() {
    if (must_not_park) {
      relax();
      return;
    }
    native::yield();
  }
  static void wait(atomic<std::uint32_t>& word, std::uint32_t expected) {
    if (must_not_park) {
      relax();
      return;
    }
    count(event::futex_wait);
    native::wait(word, expected);
  }
  static void wait_until(atomic<std::uint32_t>& word, std::uint32_t expected,
                         std::uint64_t deadline) {
    if (must_not_park) {
      relax();
      return;
    }
    count(event::futex_wait);
    native::wait_until(word, expected, deadline);
  }
  static void wake(atomic<std::uint32_t>& word, std::uint32_t number) {
    count(event::futex_wake);
    native::wake(word, number);
  }
  static void wait_low(atomic<std::uint64_t>& word, std::uint32_t expected) {
    if (must_not_park) {
      relax();
      return;
    }
    count(event::futex_wait);
    native::wait_low(word, expected);
  }
  static void wait_low_until(atomic<std::uint64_t>& word, std::uint32_t expected,
                             std::uint64_t deadline) {
    if (must_not_park) {
      relax();
      return;
    }
    count(event::futex_wait);
    native::wait_low_until(word, expected, deadline);
  }
  static void wake_low(atomic<std::uint64_t>& word, std::uint32_t number) {
    count(event::futex_wake);
    native::wake_low(word, number);
  }
  static void wait_high(atomic<std::uint64_t>& word, std::uint32_t expected) {
    if (must_not_park) {
      relax();
      return;
    }
    count(event::futex_wait);
    native::wait_high(word, expected);
  }
  static void wait_high_until(atomic<std::uint64_t>& word, std::uint32_t expected,
                              std::uint64_t deadline) {
    if (must_not_park) {
      relax();
      return;
    }
    count(event::futex_wait);
    native::wait_high_until(word, expected, deadline);
  }
  static void wake_high(atomic<std::uint64_t>& word, std::uint32_t number) {
    count(event::futex_wake);
    native::wake_high(word, number);
  }
};

}  // namespace lockwright::preload
