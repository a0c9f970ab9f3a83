// A preload library with a deliberate rare fault, chosen at compile time. All other calls go to the
// C library. lockwright-torture must find each of the faults.
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include "../../support/broken.hpp"

using namespace broken;

namespace {

[[maybe_unused]] void sleep_us(long us) {
  const timespec length{0, us * 1000};
  nanosleep(&length, nullptr);
}

[[maybe_unused]] std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

// The C library's functions, looked up before any thread exists: a look-up takes a mutex.
using mutex_call = int(pthread_mutex_t*);
using cond_call = int(pthread_cond_t*);
mutex_call* const real_lock = real<mutex_call>("pthread_mutex_lock", base);
mutex_call* const real_unlock = real<mutex_call>("pthread_mutex_unlock", base);
mutex_call* const real_trylock = real<mutex_call>("pthread_mutex_trylock", late);
int (*const real_clocklock)(pthread_mutex_t*, clockid_t, const timespec*) =
    real<int(pthread_mutex_t*, clockid_t, const timespec*)>("pthread_mutex_clocklock", late);
cond_call* const real_signal = real<cond_call>("pthread_cond_signal", cond);
cond_call* const real_broadcast = real<cond_call>("pthread_cond_broadcast", cond);
int (*const real_wait)(pthread_cond_t*, pthread_mutex_t*) =
    real<int(pthread_cond_t*, pthread_mutex_t*)>("pthread_cond_wait", cond);
int (*const real_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*) =
    real<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>(
        "pthread_cond_clockwait", late);

[[maybe_unused]] int (*const real_write_lock)(pthread_rwlock_t*) =
    real<int(pthread_rwlock_t*)>("pthread_rwlock_wrlock", late);

#if defined(BROKEN_RARE_ENTRY)

// The mutex whose critical section the thread has entered without the lock.
thread_local pthread_mutex_t* entered_without_lock = nullptr;

int lock(pthread_mutex_t* mutex) {
  if (entered_without_lock == nullptr && every(3'000)) {
    entered_without_lock = mutex;
    return 0;
  }
  return real_lock(mutex);
}

int unlock(pthread_mutex_t* mutex) {
  if (entered_without_lock == mutex) {
    entered_without_lock = nullptr;
    return 0;
  }
  return real_unlock(mutex);
}

#elif defined(BROKEN_WAKE_LOST)

int lock(pthread_mutex_t* mutex) {
  const int result = real_trylock(mutex);
  if (result != EBUSY) return result;
  while (every(2'000)) {
    for (;;) pause();
  }
  return real_lock(mutex);
}
int unlock(pthread_mutex_t* mutex) { return real_unlock(mutex); }

#elif defined(BROKEN_STARVES)

// A starved thread that holds no mutex acquires one only after a pause of all other threads.
std::atomic<std::int64_t> last_acquired_ns{0};
thread_local int mutexes_held = 0;

int lock(pthread_mutex_t* mutex) {
  thread_local const bool starved = syscall(SYS_gettid) % 2 == 0;
  while (starved && mutexes_held == 0 && now_ns() - last_acquired_ns.load() < 20'000'000)
    sleep_us(1'000);
  const int result = real_lock(mutex);
  last_acquired_ns.store(now_ns());
  ++mutexes_held;
  return result;
}

int unlock(pthread_mutex_t* mutex) {
  --mutexes_held;
  return real_unlock(mutex);
}

#elif defined(BROKEN_OUT_OF_ORDER)

// A queue that sometimes serves the second waiter before the first.
struct waiter {
  std::atomic<bool> served{false};
  waiter* next = nullptr;
};

struct queue {
  std::atomic<int> guard;
  int held;
  waiter* first;
  int kind;
  int unused;
  waiter* last;
};

queue& guarded_queue(pthread_mutex_t* mutex) {
  auto& waiters = *reinterpret_cast<queue*>(mutex);
  while (waiters.guard.exchange(1) != 0) sched_yield();
  return waiters;
}

int trylock(pthread_mutex_t* mutex) {
  queue& waiters = guarded_queue(mutex);
  const int result = waiters.held != 0 ? EBUSY : 0;
  waiters.held = 1;
  waiters.guard.store(0);
  return result;
}

int lock(pthread_mutex_t* mutex) {
  queue& waiters = guarded_queue(mutex);
  waiter self;
  if (waiters.held != 0) {
    (waiters.first == nullptr ? waiters.first : waiters.last->next) = &self;
    waiters.last = &self;
    waiters.guard.store(0);
    while (!self.served.load()) sleep_us(20);
    return 0;
  }
  waiters.held = 1;
  waiters.guard.store(0);
  return 0;
}

int unlock(pthread_mutex_t* mutex) {
  queue& waiters = guarded_queue(mutex);
  waiter* next = waiters.first;
  if (next == nullptr) {
    waiters.held = 0;
  } else if (next->next != nullptr && every(20)) {
    waiter* const second = next->next;
    next->next = second->next;
    if (waiters.last == second) waiters.last = next;
    next = second;
  } else {
    waiters.first = next->next;
  }
  waiters.guard.store(0);
  if (next != nullptr) next->served.store(true);
  return 0;
}

int clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  for (timespec t{}; trylock(mutex) != 0; sleep_us(20)) {
    clock_gettime(clock, &t);
    if (t.tv_sec > until->tv_sec || (t.tv_sec == until->tv_sec && t.tv_nsec >= until->tv_nsec)) {
      return ETIMEDOUT;
    }
  }
  return 0;
}

#elif defined(BROKEN_LEAK)

int lock(pthread_mutex_t* mutex) {
  const int result = real_lock(mutex);
  *static_cast<volatile char*>(std::malloc(32)) = 1;
  return result;
}
int unlock(pthread_mutex_t* mutex) { return real_unlock(mutex); }

#elif defined(BROKEN_FORK_FINDS_LOCKED)

std::atomic<int> internal{0};

int lock(pthread_mutex_t* mutex) {
  while (internal.exchange(1) != 0) sched_yield();
  const int result = real_trylock(mutex);
  for (int i = 0; i < 300; ++i) asm volatile("");
  internal.store(0);
  return result == EBUSY ? real_lock(mutex) : result;
}
int unlock(pthread_mutex_t* mutex) { return real_unlock(mutex); }

#elif defined(BROKEN_TOUCH_AFTER_UNLOCK)

int lock(pthread_mutex_t* mutex) { return real_lock(mutex); }
int unlock(pthread_mutex_t* mutex) {
  const int result = real_unlock(mutex);
  if (every(100)) sleep_us(100);
  [[maybe_unused]] const int touched = *reinterpret_cast<volatile int*>(mutex);
  return result;
}

#elif defined(BROKEN_CRASHES)

int lock(pthread_mutex_t* mutex) {
  if (every(20'000)) std::abort();
  return real_lock(mutex);
}
int unlock(pthread_mutex_t* mutex) { return real_unlock(mutex); }

#else

int lock(pthread_mutex_t* mutex) { return real_lock(mutex); }
int unlock(pthread_mutex_t* mutex) { return real_unlock(mutex); }

#endif

#if !defined(BROKEN_OUT_OF_ORDER)

int clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
#if defined(BROKEN_DEADLINE_TOO_SOON)
  const int result = real_trylock(mutex);
  if (result == EBUSY && every(20)) return ETIMEDOUT;
  return result == EBUSY ? real_clocklock(mutex, clock, until) : result;
#elif defined(BROKEN_DEADLINE_KEEPS)
  const int result = real_clocklock(mutex, clock, until);
  if (result == ETIMEDOUT && every(20)) real_lock(mutex);
  return result;
#elif defined(BROKEN_DEADLINE_OVERSLEPT)
  const int result = real_clocklock(mutex, clock, until);
  while (result == ETIMEDOUT && every(20)) {
    for (;;) pause();
  }
  return result;
#else
  return real_clocklock(mutex, clock, until);
#endif
}

int trylock(pthread_mutex_t* mutex) {
  const int result = real_trylock(mutex);
#if defined(BROKEN_TRYLOCK_TAKES_HELD)
  if (result == EBUSY && every(100)) return 0;
#endif
  return result;
}

#endif

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) { return lock(mutex); }
int pthread_mutex_unlock(pthread_mutex_t* mutex) { return unlock(mutex); }
int pthread_mutex_trylock(pthread_mutex_t* mutex) { return trylock(mutex); }
int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  return clocklock(mutex, clock, until);
}
int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) {
  return clocklock(mutex, CLOCK_REALTIME, until);
}

int pthread_cond_signal(pthread_cond_t* condition) {
#if defined(BROKEN_SIGNAL_LOST)
  if (every(2'000)) return 0;
#endif
  return real_signal(condition);
}

int pthread_cond_broadcast(pthread_cond_t* condition) {
#if defined(BROKEN_BROADCAST_WAKES_ONE)
  if (every(50)) return real_signal(condition);
#endif
  return real_broadcast(condition);
}

#if defined(BROKEN_CANCEL_WITHOUT_MUTEX)
static void release(void* mutex) { real_unlock(static_cast<pthread_mutex_t*>(mutex)); }
#endif

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
#if defined(BROKEN_CANCEL_WITHOUT_MUTEX)
  int result = 0;
  pthread_cleanup_push(release, mutex);
  result = real_wait(condition, mutex);
  pthread_cleanup_pop(0);
  return result;
#elif defined(BROKEN_CANCEL_TAKES_SIGNAL)
  // The thread is cancelled after it has received the signal, which is lost.
  const int result = real_wait(condition, mutex);
  sleep_us(50);
  pthread_testcancel();
  return result;
#else
  return real_wait(condition, mutex);
#endif
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  const int result = real_clockwait(condition, mutex, clock, until);
#if defined(BROKEN_TIMEOUT_WITHOUT_MUTEX)
  if (result == ETIMEDOUT && every(20)) real_unlock(mutex);
#endif
  return result;
}

#if defined(BROKEN_LEAK_OF_THREAD)
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) {
  static auto* const original =
      real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create", late);
  auto* const lost = static_cast<volatile char*>(std::malloc(4096));
  for (int i = 0; i < 4096; i += 512) lost[i] = 1;
  return original(thread, attributes, run, argument);
}
#endif

#if defined(BROKEN_DESTROY_HANGS)
int pthread_mutex_destroy(pthread_mutex_t*) {
  while (every(5)) pause();
  return 0;
}
#elif defined(BROKEN_END_OF_THREAD_HANGS)
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) {
  struct start {
    void* (*run)(void*);
    void* argument;
  };
  static auto* const original =
      real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create", late);
  const auto hanging = [](void* given) -> void* {
    const start wanted = *static_cast<start*>(given);
    std::free(given);
    void* const result = wanted.run(wanted.argument);
    while (every(50)) pause();
    return result;
  };
  auto* const copy = static_cast<start*>(std::malloc(sizeof(start)));
  *copy = {run, argument};
  return original(thread, attributes, hanging, copy);
}
#endif

#if defined(BROKEN_WRITER_BESIDE_READERS)
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  return every(50) ? pthread_rwlock_rdlock(lock) : real_write_lock(lock);
}
#elif defined(BROKEN_WRITER_FORGOTTEN)
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  while (every(500)) pause();
  return real_write_lock(lock);
}
#elif defined(BROKEN_READER_DEADLINE_TOO_SOON)
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) { return real_write_lock(lock); }
int pthread_rwlock_clockrdlock(pthread_rwlock_t*, clockid_t, const timespec*) { return ETIMEDOUT; }
#endif

}  // extern "C"
