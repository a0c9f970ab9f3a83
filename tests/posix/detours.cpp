// A preload library with a spin lock of one word for every mutex, and with one detour on the way
// in, chosen when it is compiled; without one, it is what the test of the fast path needs.
#include <pthread.h>
#include <atomic>
#include <cerrno>

namespace {

std::atomic<int>& word(pthread_mutex_t* mutex) {
  return *reinterpret_cast<std::atomic<int>*>(mutex);
}

[[gnu::always_inline]] inline bool take(pthread_mutex_t* mutex) {
  return word(mutex).exchange(1, std::memory_order_acquire) == 0;
}

[[gnu::noinline]] int wait_for(pthread_mutex_t* mutex) {
  while (!take(mutex)) {
  }
  return 0;
}

using function = int(pthread_mutex_t*);

// Volatile: the compiler must not know what it holds.
[[maybe_unused]] function* volatile chosen = wait_for;

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) {
#if defined(DETOUR_POINTER)
  return chosen(mutex) == 0 ? 0 : EINVAL;
#elif defined(DETOUR_JUMP)
  return chosen(mutex);
#elif defined(DETOUR_CALL)
  return wait_for(mutex) == 0 ? 0 : EINVAL;
#elif defined(DETOUR_TWICE)
  word(mutex).fetch_or(0, std::memory_order_relaxed);
  return take(mutex) ? 0 : wait_for(mutex);
#else
  return take(mutex) ? 0 : wait_for(mutex);
#endif
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) { return take(mutex) ? 0 : EBUSY; }

int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  word(mutex).store(0, std::memory_order_release);
  return 0;
}

}  // extern "C"
