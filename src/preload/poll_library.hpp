// Waits for a mutex of the C library: by polling, for which it has no function, and up to a
// deadline.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "interpose/deadline.hpp"
#include "interpose/real.hpp"
#include "interpose/thread_number.hpp"
#include "lockwright/env/native.hpp"
#include "preload/kind.hpp"

namespace lockwright::preload {

using interpose::deadline_clock;
using interpose::library_until;
using interpose::real;
using interpose::thread_number;

/// Returns true if the C library's pthread_mutex_lock() would fail at once, because the caller
/// holds the mutex. Relaxed: only the caller could have stored its own number.
inline bool is_refused_to_owner(const pthread_mutex_t* mutex) {
  const auto kind =
      static_cast<kind_word>(__atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED));
  const auto owner =
      static_cast<std::uint32_t>(__atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED));
  return type_of(kind) == errorcheck && owner == thread_number();
}

/// Locks by polling, outside any queue, so others may barge; sets `waited` if the mutex was held.
inline int poll_library(pthread_mutex_t* mutex, bool& waited) {
  int result = real.mutex_trylock(mutex);
  if (result == EBUSY && is_refused_to_owner(mutex)) {
    return EDEADLK;
  }
  while (result == EBUSY) {
    waited = true;
    native::relax();
    result = real.mutex_trylock(mutex);
  }
  return result;
}

/// Locks up to `deadline`. Uses the older function where it suffices: tools may know no other.
inline int lock_library_until(pthread_mutex_t* mutex, deadline_clock clock,
                              const timespec* deadline) {
  return library_until(clock, deadline, [mutex, clock](const timespec* until) {
    return clock.id == CLOCK_REALTIME ? real.mutex_timedlock(mutex, until)
                                      : real.mutex_clocklock(mutex, clock.id, until);
  });
}

}  // namespace lockwright::preload
