// The algorithm of a reader-writer lock that has none yet: that of LOCKWRIGHT_RWLOCK, in the library of
// several algorithms that of the plan. A C library's lock to which the plan gives no other has a mark in
// a word that the C library does not use.
#pragma once

#include <pthread.h>

#include <atomic>

#include "preload/generation.hpp"
#include "preload/rwlock_kind.hpp"

namespace lockwright::preload {

/// Returns the algorithm for a lock that the program initialises. `caller`: the return address of
/// the call.
rwlock_mode mode_at_init(const pthread_rwlock_t* lock, const void* caller);

/// True once all locks are known to be left to the C library, which the entry points then call.
// Relaxed everywhere: nothing depends on who finds it out, nor when.
inline std::atomic<bool> all_are_kept{false};

/// Returns the algorithm of a lock; rwlock_mode::keep if it is left to the C library. Gives it one
/// if it has none, as after a static initialiser.
rwlock_mode ensured_mode(pthread_rwlock_t* lock, const void* caller);

/// Returns the algorithm of a lock, rwlock_mode::keep if it has none.
inline rwlock_mode mode_of(const pthread_rwlock_t& lock) {
  return mode_of(__atomic_load_n(&lock.__data.__flags, __ATOMIC_ACQUIRE));
}

/// Gives a lock that has no algorithm this one, unless another thread has given it one. Returns the
/// algorithm that it has then.
inline rwlock_mode give_mode(pthread_rwlock_t* lock, rwlock_mode mode) {
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
