// mtx_* and cnd_* of C11: the same objects under other names. The C library's own call its mutexes
// by internal names, and would pass by this library. What is not here does nothing but call it.
#include <errno.h>
#include <threads.h>

#include "cond.hpp"
#include "export.hpp"
#include "mutex.hpp"

namespace {

using namespace lockwright::probe;

pthread_mutex_t* posix(mtx_t* m) { return reinterpret_cast<pthread_mutex_t*>(m); }
pthread_cond_t* posix(cnd_t* c) { return reinterpret_cast<pthread_cond_t*>(c); }

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

int lockwright_mtx_init(mtx_t* m, int type) noexcept {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  const bool is_recursive = (type & mtx_recursive) != 0;
  pthread_mutexattr_settype(&attributes,
                            is_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
  const int error = init(posix(m), &attributes, LOCKWRIGHT_CALLER);
  pthread_mutexattr_destroy(&attributes);
  return c11(error);
}

void lockwright_mtx_destroy(mtx_t* m) noexcept { destroy(posix(m)); }
int lockwright_mtx_lock(mtx_t* m) noexcept { return c11(lock(posix(m), LOCKWRIGHT_CALLER)); }
int lockwright_mtx_trylock(mtx_t* m) noexcept { return c11(try_lock(posix(m), LOCKWRIGHT_CALLER)); }
int lockwright_mtx_unlock(mtx_t* m) noexcept { return c11(unlock(posix(m))); }

int lockwright_mtx_timedlock(mtx_t* m, const timespec* deadline) noexcept {
  return c11(lock_until(posix(m), CLOCK_REALTIME, deadline, LOCKWRIGHT_CALLER));
}

int lockwright_cnd_signal(cnd_t* c) noexcept { return c11(cond_signal(posix(c))); }
int lockwright_cnd_broadcast(cnd_t* c) noexcept { return c11(cond_broadcast(posix(c))); }

int lockwright_cnd_wait(cnd_t* c, mtx_t* with) {
  return c11(cond_wait(posix(c), posix(with), LOCKWRIGHT_CALLER));
}

int lockwright_cnd_timedwait(cnd_t* c, mtx_t* with, const timespec* deadline) {
  return c11(cond_timedwait(posix(c), posix(with), deadline, LOCKWRIGHT_CALLER));
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
C11_NAME(cnd_signal);
C11_NAME(cnd_broadcast);
C11_NAME(cnd_wait);
C11_NAME(cnd_timedwait);
