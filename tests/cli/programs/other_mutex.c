/* A lock library of another project: a test-and-set lock in the first word of a mutex. */
#include <pthread.h>
#include <sched.h>

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  while (__atomic_exchange_n((int*)mutex, 1, __ATOMIC_ACQUIRE) != 0) sched_yield();
  return 0;
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  return __atomic_exchange_n((int*)mutex, 1, __ATOMIC_ACQUIRE) == 0 ? 0 : 16;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  __atomic_store_n((int*)mutex, 0, __ATOMIC_RELEASE);
  return 0;
}
