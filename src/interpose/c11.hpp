// C11 threads on POSIX: the same objects under other names, with other constants for types and
// results.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "interpose/export.hpp"

namespace lockwright::interpose {

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));

inline pthread_mutex_t* posix(mtx_t* m) { return reinterpret_cast<pthread_mutex_t*>(m); }
inline pthread_cond_t* posix(cnd_t* c) { return reinterpret_cast<pthread_cond_t*>(c); }

/// Returns the C11 result of an error number, as the C library maps it.
inline int c11(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case ENOMEM:
      return thrd_nomem;
    case ETIMEDOUT:
      return thrd_timedout;
    case EBUSY:
      return thrd_busy;
    default:
      return thrd_error;
  }
}

/// Returns init(attributes), as a C11 result. Every mutex can be locked with a timeout, so
/// mtx_timed changes nothing; an unknown type counts as mtx_plain, as in the C library.
template <class Init>
int c11_init(int type, Init init) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  const bool is_recursive =
      type == (mtx_plain | mtx_recursive) || type == (mtx_timed | mtx_recursive);
  pthread_mutexattr_settype(&attributes,
                            is_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
  const int error = init(&attributes);
  pthread_mutexattr_destroy(&attributes);
  return c11(error);
}

}  // namespace lockwright::interpose

#define C11_NAME(name)                                       \
  VERSIONED_DEFAULT(lockwright_##name, #name, "GLIBC_2.34"); \
  VERSIONED_OLD(lockwright_##name, old, #name, "GLIBC_2.28")
