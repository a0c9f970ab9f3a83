// The algorithm of a reader-writer lock that has none yet: that of LOCKWRIGHT_RWLOCK, or of the plan
// in the library of several algorithms. A lock that a plan leaves to the C library has a mark in a
// word that the C library does not use.
#pragma once

#include <pthread.h>

#include <atomic>

#include "preload/generation.hpp"
#include "preload/rwlock_kind.hpp"

namespace lockwright::preload {

/// The algorithm where no variable names one: in the library of the default, adaptive_rw.
extern const rwlock_mode default_rwlock;

/// Returns the algorithm for a lock that the program initialises. `caller`: the return address of
/// the call.
rwlock_mode mode_at_init(const pthread_rwlock_t* lock, const void* caller);

/// Returns the algorithm of all locks, where no plan assigns them.
inline rwlock_mode mode_without_plan() {
  const rwlock_mode mode = interpose::rwlocks.get(default_rwlock);
  if (mode == rwlock_mode::keep) {
    // Relaxed: a thread that does not see it asks again and gets the same answer.
    fast_path_generation.store(all_are_kept, std::memory_order_relaxed);
  }
  return mode;
}

/// Returns the algorithm of a lock that had none, as after a static initialiser, and has not been
/// marked by keep(); rwlock_mode::keep if it is left to the C library.
rwlock_mode ensured_mode(pthread_rwlock_t* lock, const void* caller);

/// Returns the algorithm of a lock, rwlock_mode::keep if it has none.
inline rwlock_mode mode_of(const pthread_rwlock_t& lock) {
  return mode_of(__atomic_load_n(&lock.__data.__flags, __ATOMIC_ACQUIRE));
}

/// Gives a lock that has no algorithm this one, unless another thread has given it one. Returns the
/// algorithm that it has then. rwlock_mode::keep changes nothing.
inline rwlock_mode give_mode(pthread_rwlock_t* lock, rwlock_mode mode) {
  if (mode == rwlock_mode::keep) {
    return mode;
  }
  kind_word* word = &lock->__data.__flags;
  kind_word seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  while (mode_of(seen) == rwlock_mode::keep) {
    const kind_word wanted = kind_of(seen) | bits_of(mode) | generation;
    if (__atomic_compare_exchange_n(word, &seen, wanted, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      return mode;
    }
  }
  return mode_of(seen);
}

/// Marks a C library's lock as one that stays so.
inline void keep(pthread_rwlock_t& lock) {
  __atomic_store_n(&lock.__data.__pad4, 1, __ATOMIC_RELEASE);
}

/// Returns true for a C library's lock that keep() has marked.
inline bool is_kept(const pthread_rwlock_t& lock) {
  return __atomic_load_n(&lock.__data.__pad4, __ATOMIC_ACQUIRE) != 0;
}

}  // namespace lockwright::preload
