// The operations on mutexes, with the caller as an argument, for the POSIX and the C11 functions.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstdint>

#include "interpose/export.hpp"

namespace lockwright::probe {

int init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes, std::uint64_t caller);
int destroy(pthread_mutex_t* mutex);
int lock(pthread_mutex_t* mutex, std::uint64_t caller);
int try_lock(pthread_mutex_t* mutex, std::uint64_t caller);
int lock_until(pthread_mutex_t* mutex, clockid_t clock, const timespec* deadline,
               std::uint64_t caller);
int unlock(pthread_mutex_t* mutex, std::uint64_t caller);

}  // namespace lockwright::probe
