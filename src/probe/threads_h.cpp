// mtx_* and cnd_* of C11: the same objects under other names. The C library's versions call its
// mutex functions by internal names, which bypass this library. The others need no profiling.
#include "interpose/c11.hpp"
#include "probe/cond.hpp"
#include "probe/mutex.hpp"

using namespace lockwright::probe;
using lockwright::interpose::c11;
using lockwright::interpose::c11_init;
using lockwright::interpose::posix;

extern "C" {

int lockwright_mtx_init(mtx_t* m, int type) noexcept {
  const std::uint64_t caller = LOCKWRIGHT_CALLER;
  return c11_init(
      type, [m, caller](const auto* attributes) { return init(posix(m), attributes, caller); });
}

void lockwright_mtx_destroy(mtx_t* m) noexcept { destroy(posix(m)); }
int lockwright_mtx_lock(mtx_t* m) noexcept { return c11(lock(posix(m), LOCKWRIGHT_CALLER)); }
int lockwright_mtx_trylock(mtx_t* m) noexcept { return c11(try_lock(posix(m), LOCKWRIGHT_CALLER)); }
int lockwright_mtx_unlock(mtx_t* m) noexcept { return c11(unlock(posix(m), LOCKWRIGHT_CALLER)); }

int lockwright_mtx_timedlock(mtx_t* m, const timespec* deadline) noexcept {
  return c11(lock_until(posix(m), CLOCK_REALTIME, deadline, LOCKWRIGHT_CALLER));
}

int lockwright_cnd_signal(cnd_t* c) noexcept {
  return c11(cond_signal(posix(c), LOCKWRIGHT_CALLER));
}
int lockwright_cnd_broadcast(cnd_t* c) noexcept {
  return c11(cond_broadcast(posix(c), LOCKWRIGHT_CALLER));
}

int lockwright_cnd_wait(cnd_t* c, mtx_t* with) {
  return c11(cond_wait(posix(c), posix(with), LOCKWRIGHT_CALLER));
}

int lockwright_cnd_timedwait(cnd_t* c, mtx_t* with, const timespec* deadline) {
  return c11(cond_timedwait(posix(c), posix(with), deadline, LOCKWRIGHT_CALLER));
}

}  // extern "C"

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
