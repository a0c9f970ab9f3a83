// The events that the counting library counts, in a file named
// by LOCKWRIGHT_STATS. In the plain library every function
// here is empty.
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
  mutex_seen,      ///< a mutex acquired for the first time since its initialisation
  acquired,        ///< a lock, trylock or timed lock that succeeded
  contended,       ///< ... and had found the mutex held
  cond_waited,     ///< a condition variable wait that blocked or timed out
  trylock_failed,  ///< a trylock that found the mutex held
  futex_wait,      ///< a call into the kernel to sleep
  futex_wake,      ///< a call into the kernel to wake
  handed_over,     ///< an acquisition of a mutex that is left to the C library
  read_locked,     ///< an acquisition of one of our reader-writer locks, by a reader
  write_locked,    ///< ... by a writer
  spin_locked,     ///< an acquisition of one of our spin locks
};

#if LOCKWRIGHT_COUNTING

/// Adds one, atomically, in the stripe of the calling thread.
void count(event what);
void count_process();
void count_unresolved(std::uint64_t names);

#else

inline void count(event) {}
inline void count_process() {}
inline void count_unresolved(std::uint64_t) {}

#endif

/// True while the calling thread is in a lock call that must not deschedule it.
/// Read only where it would otherwise be descheduled.
inline constinit thread_local bool stays_awake = false;

/// The native environment, with futex calls counted. A waiter that stays awake
/// keeps its place in the algorithm's queue and polls there: to
/// the algorithm these are sleeps that end early.
struct environment : native {
  /// The stamp of this process's objects, in the bits 31-16.
  static std::uint32_t stamp() { return generation; }

  /// Whether a race detector runs in this process.
  static bool is_watched() { return preload::is_watched(); }

  static void yield() {
    if (stays_awake) {
      relax();
      return;
    }
    native::yield();
  }
  static void wait(atomic<std::uint32_t>& word, std::uint32_t expected) {
    if (stays_awake) {
      relax();
      return;
    }
    count(event::futex_wait);
    native::wait(word, expected);
  }
  static void wait_until(atomic<std::uint32_t>& word, std::uint32_t expected,
                         std::uint64_t deadline) {
    if (stays_awake) {
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
    if (stays_awake) {
      relax();
      return;
    }
    count(event::futex_wait);
    native::wait_low(word, expected);
  }
  static void wait_low_until(atomic<std::uint64_t>& word, std::uint32_t expected,
                             std::uint64_t deadline) {
    if (stays_awake) {
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
};

}  // namespace lockwright::preload
