// Threads cancelled asynchronously within pthread_mutex_lock, which POSIX does not allow: the
// mutex may stay locked forever, and everything else continues. In C, where a cancellation may
// unwind through any function.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition)) {                                                      \
      fprintf(stderr, "%s:%d: %s failed\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                               \
    }                                                                        \
  } while (0)
#define OK(call) CHECK((call) == 0)

static pthread_mutex_t awaited;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static atomic_int arrived;
static atomic_int cleaned;
static atomic_int may_go;

// Waits for the flag, and long enough that its thread mostly is inside its next call.
static void wait_for(atomic_int* flag) {
  const struct timespec moment = {0, 5000000};
  do {
    nanosleep(&moment, NULL);
  } while (atomic_load(flag) == 0);
  nanosleep(&moment, NULL);
}

static void release(void* unused) {
  (void)unused;
  OK(pthread_mutex_unlock(&awaited));
  atomic_fetch_add(&cleaned, 1);
}

static void* lock_twice(void* unused) {
  (void)unused;
  int before = 0;
  OK(pthread_mutex_lock(&awaited));
  pthread_cleanup_push(release, NULL);
  OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before));
  atomic_store(&arrived, 1);
  pthread_mutex_lock(&awaited);
  pthread_cleanup_pop(0);
  return NULL;
}

static void* hold(void* unused) {
  (void)unused;
  OK(pthread_mutex_lock(&other));
  atomic_store(&arrived, 1);
  wait_for(&may_go);
  OK(pthread_mutex_unlock(&other));
  return NULL;
}

static void* lock_and_unlock(void* unused) {
  (void)unused;
  atomic_store(&arrived, 1);
  OK(pthread_mutex_lock(&other));
  OK(pthread_mutex_unlock(&other));
  return NULL;
}

static pthread_t start(void* (*body)(void*)) {
  pthread_t thread;
  atomic_store(&arrived, 0);
  OK(pthread_create(&thread, NULL, body, NULL));
  wait_for(&arrived);
  return thread;
}

// The thread holds the mutex and locks it again; its clean-up handler unlocks it. Then
// later threads hand over another mutex.
static void cancel_its_holder(void) {
  for (int round = 1; round <= 5; ++round) {
    void* result = NULL;
    OK(pthread_mutex_init(&awaited, NULL));
    const pthread_t waiter = start(lock_twice);
    OK(pthread_cancel(waiter));
    OK(pthread_join(waiter, &result));
    CHECK(result == PTHREAD_CANCELED);
    CHECK(atomic_load(&cleaned) == round);
    atomic_store(&may_go, 0);
    const pthread_t holder = start(hold);
    const pthread_t successor = start(lock_and_unlock);
    atomic_store(&may_go, 1);
    OK(pthread_join(holder, NULL));
    OK(pthread_join(successor, NULL));
  }
}

int main(void) {
  cancel_its_holder();
  puts("ok: by its holder");
  return 0;
}
