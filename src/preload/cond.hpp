// The condition variable functions, under their internal names.
#pragma once

#include <pthread.h>
#include <time.h>

#include "interpose/program_clock.hpp"

namespace lockwright::preload {

using interpose::timed;

/// Performs pthread_cond_timedwait(), called as `function`.
int timedwait(pthread_cond_t* cond, pthread_mutex_t* with, timed function,
              const timespec* deadline);

}  // namespace lockwright::preload

extern "C" {
int lockwright_cond_init(pthread_cond_t* cond, const pthread_condattr_t* attributes) noexcept;
int lockwright_cond_destroy(pthread_cond_t* cond) noexcept;
int lockwright_cond_wait(pthread_cond_t* cond, pthread_mutex_t* with);
int lockwright_cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* with,
                              const timespec* deadline);
int lockwright_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* with, clockid_t clock,
                              const timespec* deadline);
int lockwright_cond_signal(pthread_cond_t* cond) noexcept;
int lockwright_cond_broadcast(pthread_cond_t* cond) noexcept;
}
