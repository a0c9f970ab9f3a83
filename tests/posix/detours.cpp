// A preload library with a one-word spin lock for every mutex, and with a detour in
// pthread_mutex_lock(), chosen at compile time; without one, its fast path passes the test.
#include <pthread.h>
#include <atomic>
#include <cerrno>

namespace {

std::atomic<int>& word(pthread_mutex_t* mutex) {
  return *reinterpret_cast<std::atomic<int>*>(mutex);
}

[[gnu::always_inline]] inline bool try_acquire(pthread_mutex_t* mutex) {
  return word(mutex).exchange(1, std::memory_order_acquire) == 0;
}

[[gnu::noinline]] int acquire(pthread_mutex_t* mutex) {
  while (!try_acquire(mutex)) {
  }
  return 0;
}

using function = int(pthread_mutex_t*);

// Volatile: the compiler must not know its value.
[[maybe_unused]] function* volatile slow_path = acquire;

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) {
#if defined(DETOUR_POINTER)
  return slow_path(mutex) == 0 ? 0 : EINVAL;
#elif defined(DETOUR_JUMP)
  return slow_path(mutex);
#elif defined(DETOUR_CALL)
  return acquire(mutex) == 0 ? 0 : EINVAL;
#elif defined(DETOUR_TWICE)
  word(mutex).fetch_or(0, std::memory_order_relaxed);
  return try_acquire(mutex) ? 0 : acquire(mutex);
#else
  return try_acquire(mutex) ? 0 : acquire(mutex);
#endif
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) { return try_acquire(mutex) ? 0 : EBUSY; }

int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  word(mutex).store(0, std::memory_order_release);
  return 0;
}

}  // extern "C"
