// The operations on condition variables, with the caller as an argument.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstdint>

namespace lockwright::probe {

// Not noexcept, the waits: a cancellation unwinds through them.
int cond_wait(pthread_cond_t* cond, pthread_mutex_t* with, std::uint64_t caller);
int cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* with, const timespec* deadline,
                   std::uint64_t caller);
int cond_signal(pthread_cond_t* cond, std::uint64_t caller);
int cond_broadcast(pthread_cond_t* cond, std::uint64_t caller);

}  // namespace lockwright::probe
