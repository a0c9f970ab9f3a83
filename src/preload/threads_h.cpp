// mtx_* and cnd_* of C11: the same objects under other names. The C library's
// own call its mutexes by internal names, and would pass by this library.
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "cond.hpp"
#include "export.hpp"
#include "mutex.hpp"

using lockwright::preload::mutex;

namespace {

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));

pthread_mutex_t* posix(mtx_t* m) { return reinterpret_cast<pthread_mutex_t*>(m); }
pthread_cond_t* posix(cnd_t* c) { return reinterpret_cast<pthread_cond_t*>(c); }

/// C11 has five results, as the C library maps them.
int c11(int error) {
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

}  // namespace

extern "C" {

// Every mutex can be locked with a timeout, so mtx_timed changes nothing; what is
// no type counts as mtx_plain, as in the C library.
int lockwright_mtx_init(mtx_t* m, int type) noexcept {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  const bool is_recursive =
      type == (mtx_plain | mtx_recursive) || type == (mtx_timed | mtx_recursive);
  pthread_mutexattr_settype(&attributes,
                            is_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
  const int error = mutex::init(posix(m), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return c11(error);
}

void lockwright_mtx_destroy(mtx_t* m) noexcept { mutex::destroy(posix(m)); }

int lockwright_mtx_lock(mtx_t* m) noexcept { return c11(mutex::lock(posix(m))); }

int lockwright_mtx_trylock(mtx_t* m) noexcept { return c11(mutex::trylock(posix(m))); }

int lockwright_mtx_timedlock(mtx_t* m, const timespec* deadline) noexcept {
  return c11(mutex::clocklock(posix(m), CLOCK_REALTIME, deadline));
}

int lockwright_mtx_unlock(mtx_t* m) noexcept { return c11(mutex::unlock(posix(m))); }

int lockwright_cnd_init(cnd_t* c) noexcept { return c11(lockwright_cond_init(posix(c), nullptr)); }

void lockwright_cnd_destroy(cnd_t* c) noexcept { lockwright_cond_destroy(posix(c)); }

int lockwright_cnd_signal(cnd_t* c) noexcept { return c11(lockwright_cond_signal(posix(c))); }

int lockwright_cnd_broadcast(cnd_t* c) noexcept { return c11(lockwright_cond_broadcast(posix(c))); }

// Not noexcept, the two waits: a cancellation unwinds through them.

int lockwright_cnd_wait(cnd_t* c, mtx_t* with) {
  return c11(lockwright_cond_wait(posix(c), posix(with)));
}

int lockwright_cnd_timedwait(cnd_t* c, mtx_t* with, const timespec* deadline) {
  return c11(lockwright_cond_timedwait(posix(c), posix(with), deadline));
}

}  // extern "C"

#define C11_NAME(name)                                       \
  VERSIONED_DEFAULT(lockwright_##name, #name, "GLIBC_2.34"); \
  VERSIONED_OLD(lockwright_##name, old, #name, "GLIBC_2.28")

C11_NAME(mtx_init);
C11_NAME(mtx_destroy);
C11_NAME(mtx_lock);
C11_NAME(mtx_trylock);
C11_NAME(mtx_timedlock);
C11_NAME(mtx_unlock);
C11_NAME(cnd_init);
C11_NAME(cnd_destroy);
C11_NAME(cnd_signal);
C11_NAME(cnd_broadcast);
C11_NAME(cnd_wait);
C11_NAME(cnd_timedwait);
