// mtx_* and cnd_* of C11: the same objects under other names. The C library's versions call its
// mutex functions by internal names, which bypass this library.
#include "interpose/c11.hpp"
#include "interpose/program_clock.hpp"
#include "preload/cond.hpp"
#include "preload/mutex.hpp"

using lockwright::interpose::c11;
using lockwright::interpose::c11_init;
using lockwright::interpose::clock_of;
using lockwright::interpose::posix;
using lockwright::interpose::timed;
using lockwright::preload::mutex;
using lockwright::preload::timedwait;

extern "C" {

int lockwright_mtx_init(mtx_t* m, int type) noexcept {
  return c11_init(type, [m](const auto* attributes) { return mutex::init(posix(m), attributes); });
}

void lockwright_mtx_destroy(mtx_t* m) noexcept { mutex::destroy(posix(m)); }

int lockwright_mtx_lock(mtx_t* m) noexcept { return c11(mutex::lock(posix(m))); }

int lockwright_mtx_trylock(mtx_t* m) noexcept { return c11(mutex::trylock(posix(m))); }

int lockwright_mtx_timedlock(mtx_t* m, const timespec* deadline) noexcept {
  return c11(mutex::clocklock(posix(m), clock_of(timed::mtx_timedlock, CLOCK_REALTIME), deadline));
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
  return c11(timedwait(posix(c), posix(with), timed::cnd_timedwait, deadline));
}

}  // extern "C"

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
