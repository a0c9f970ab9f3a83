// The operations on reader-writer locks that stay the C library's, with the caller as an argument.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstdint>

#include "probe/rwlock_words.hpp"
#include "probe/state.hpp"

namespace lockwright::probe::kept {

/// What the calls of a reader return that is neither alone with the lock nor among readers only, or
/// is to be sampled: nothing was done.
inline constexpr int not_done = -1;

/// The calls of a reader as far as they need no call of a function. None is done for a lock that is
/// replaced by a mutex: its readers have no countdown, and its first word is that of the mutex.
struct reader {
  rwlock_words& words;

  int rdlock() const {
    std::int32_t& countdown = this_slot->reads.countdown;
    if (countdown <= 0 || words.shared != PTHREAD_PROCESS_PRIVATE || !try_enter(words)) {
      return not_done;
    }
    --countdown;
    return 0;
  }

  int tryrdlock() const { return rdlock(); }

  int unlock() const { return this_slot->open_sections == 0 && try_leave(words) ? 0 : not_done; }
};

int init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attributes, std::uint64_t caller);
int lock_read(pthread_rwlock_t* lock, std::uint64_t caller);
int try_lock_read(pthread_rwlock_t* lock, std::uint64_t caller);
int lock_write(pthread_rwlock_t* lock, std::uint64_t caller);
int try_lock_write(pthread_rwlock_t* lock, std::uint64_t caller);
int unlock(pthread_rwlock_t* lock, std::uint64_t caller);

// Up to a valid deadline by the real-time or the monotonic clock.
int lock_read_until(pthread_rwlock_t* lock, clockid_t clock, const timespec* deadline,
                    std::uint64_t caller);
int lock_write_until(pthread_rwlock_t* lock, clockid_t clock, const timespec* deadline,
                     std::uint64_t caller);

}  // namespace lockwright::probe::kept
