// A preload library with one deliberate fault, chosen when it is compiled. All other calls go to
// the C library. The tests of the locks must notice each of the faults.
#include <pthread.h>
#include <unistd.h>
#include <cerrno>

#include "../support/broken.hpp"

using namespace broken;

extern "C" {

#if defined(BROKEN_NO_EXCLUSION)

int pthread_mutex_lock(pthread_mutex_t*) { return 0; }
int pthread_mutex_unlock(pthread_mutex_t*) { return 0; }

#elif defined(BROKEN_TRYLOCK_TAKES_HELD)

int pthread_mutex_trylock(pthread_mutex_t*) { return 0; }

#elif defined(BROKEN_SIGNAL_LOST_SOMETIMES)

int pthread_cond_signal(pthread_cond_t* condition) {
  static auto* const original = real<int(pthread_cond_t*)>("pthread_cond_signal", cond);
  return every(20'000) ? 0 : original(condition);
}

#elif defined(BROKEN_WAITS_TOO_LATE)

// A signal between the two calls is lost.
int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static auto* const original =
      real<int(pthread_cond_t*, pthread_mutex_t*)>("pthread_cond_wait", cond);
  pthread_mutex_unlock(mutex);
  pthread_mutex_lock(mutex);
  return original(condition, mutex);
}

#elif defined(BROKEN_SPURIOUS_WAKEUPS)

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static auto* const original =
      real<int(pthread_cond_t*, pthread_mutex_t*)>("pthread_cond_wait", cond);
  if (!every(500)) return original(condition, mutex);
  pthread_mutex_unlock(mutex);
  return pthread_mutex_lock(mutex);
}

#elif defined(BROKEN_BROADCAST_WAKES_ONE)

int pthread_cond_broadcast(pthread_cond_t* condition) { return pthread_cond_signal(condition); }

#elif defined(BROKEN_TIMEOUT_WITHOUT_MUTEX)

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* deadline) {
  static auto* const original =
      real<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)>("pthread_cond_timedwait", cond);
  const int result = original(condition, mutex, deadline);
  if (result == ETIMEDOUT) pthread_mutex_unlock(mutex);
  return result;
}

#elif defined(BROKEN_CANCEL_WITHOUT_MUTEX)

static void release(void* mutex) { pthread_mutex_unlock(static_cast<pthread_mutex_t*>(mutex)); }

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static auto* const original =
      real<int(pthread_cond_t*, pthread_mutex_t*)>("pthread_cond_wait", cond);
  int result = 0;
  pthread_cleanup_push(release, mutex);
  result = original(condition, mutex);
  pthread_cleanup_pop(0);
  return result;
}

#elif defined(BROKEN_WRITERS_TOGETHER)

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) { return pthread_rwlock_rdlock(lock); }

#elif defined(BROKEN_READERS_APART)

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) { return pthread_rwlock_wrlock(lock); }

#elif defined(BROKEN_READER_LET_IN_TOO_SOON)

int pthread_rwlock_tryrdlock(pthread_rwlock_t*) { return 0; }

#elif defined(BROKEN_DEADLINE_TOO_SOON)

int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t, const timespec*) {
  const int result = pthread_rwlock_trywrlock(lock);
  return result == EBUSY ? ETIMEDOUT : result;
}

#elif defined(BROKEN_SPIN_TAKES_HELD)

int pthread_spin_lock(pthread_spinlock_t*) { return 0; }
int pthread_spin_trylock(pthread_spinlock_t*) { return 0; }

#elif defined(BROKEN_BANNER)

[[gnu::constructor]] static void print_banner() {
  [[maybe_unused]] const ssize_t written = write(1, "using a lock\n", 13);
}

#else
#error "no fault chosen"
#endif

}  // extern "C"
