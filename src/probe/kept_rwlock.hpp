// The operations on reader-writer locks that stay the C library's, with the caller as an argument.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstdint>

namespace lockwright::probe::kept {

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
