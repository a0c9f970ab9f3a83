// Semaphores, barriers, pthread_once and the joining of threads: calls of the C library's functions,
// measured if they wait.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include "interpose/c11.hpp"
#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "probe/waits.hpp"

namespace lockwright::probe {
namespace {

using interpose::real;

bool is_valid(const timespec& deadline) {
  return deadline.tv_nsec >= 0 && deadline.tv_nsec < 1000000000;
}

/// Waits for a semaphore by `wait` if it is not free.
template <class Wait>
int sem_wait(sem_t* sem, std::uint64_t caller, Wait wait) {
  const int error = errno;
  pthread_testcancel();
  if (real.sem_trywait(sem) == 0) {
    return 0;
  }
  errno = error;
  object_wait waited(wait_object::semaphore, sem, caller);
  const int result = wait();
  const int error_after = errno;
  waited.end(result != 0 && error_after == ETIMEDOUT);
  errno = error_after;
  return result;
}

/// The end of a thread is the object; those that one caller joins are one, since each ends once.
int join(pthread_t thread, void** value, std::uint64_t caller) {
  if (const int error = real.thread_tryjoin(thread, value); error != EBUSY) {
    return error == 0 ? 0 : real.thread_join(thread, value);
  }
  object_wait waited(wait_object::join, reinterpret_cast<const void*>(caller), caller);
  const int error = real.thread_join(thread, value);
  waited.end();
  return error;
}

/// The bits of a pthread_once_t of the C library: its function is being called, or has been.
constexpr int once_state = 3;
constexpr int once_runs = 1;

/// What the calling thread has to call by pthread_once. waited: its wait, which ends when it has to
/// call the function after all, since the call that it waited for was left by an exception.
struct initialisation {
  pthread_once_t* control;
  void (*function)();
  std::uint64_t caller;
  object_wait* waited;
};
thread_local constinit initialisation next{};

void initialise() {
  const initialisation own = next;  // the function may initialise something else
  if (own.waited != nullptr) {
    own.waited->end();
  }
  own.function();
  note_wake(wait_object::once, own.control, own.caller);
}

int once(pthread_once_t* control, void (*function)(), std::uint64_t caller) {
  if ((__atomic_load_n(control, __ATOMIC_ACQUIRE) & once_state) != once_runs) {
    next = {.control = control, .function = function, .caller = caller, .waited = nullptr};
    return real.once(control, initialise);
  }
  object_wait waited(wait_object::once, control, caller);  // may come here, by the unwinder
  next = {.control = control, .function = function, .caller = caller, .waited = &waited};
  const int error = real.once(control, initialise);
  waited.end();
  return error;
}

}  // namespace
}  // namespace lockwright::probe

extern "C" {

using namespace lockwright::probe;
using lockwright::interpose::real;

// Not noexcept, those that wait: a cancellation unwinds through them.

int lockwright_sem_wait(sem_t* sem) {
  return sem_wait(sem, LOCKWRIGHT_CALLER, [sem] { return real.sem_wait(sem); });
}

// The C library refuses an invalid deadline or clock even if the semaphore is free.

int lockwright_sem_timedwait(sem_t* sem, const timespec* deadline) {
  if (!is_valid(*deadline)) {
    return real.sem_timedwait(sem, deadline);
  }
  return sem_wait(sem, LOCKWRIGHT_CALLER,
                  [sem, deadline] { return real.sem_timedwait(sem, deadline); });
}

int lockwright_sem_clockwait(sem_t* sem, clockid_t clock, const timespec* deadline) {
  if ((clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) || !is_valid(*deadline)) {
    return real.sem_clockwait(sem, clock, deadline);
  }
  return sem_wait(sem, LOCKWRIGHT_CALLER,
                  [sem, clock, deadline] { return real.sem_clockwait(sem, clock, deadline); });
}

// A signal handler may call it.
int lockwright_sem_post(sem_t* sem) noexcept {
  note_wake(wait_object::semaphore, sem, LOCKWRIGHT_CALLER, false);
  return real.sem_post(sem);
}

// The last thread that comes ends the waits of the others, so each that comes may be that one.
int lockwright_barrier_wait(pthread_barrier_t* barrier) noexcept {
  note_wake(wait_object::barrier, barrier, LOCKWRIGHT_CALLER);
  object_wait waited(wait_object::barrier, barrier, LOCKWRIGHT_CALLER);
  const int result = real.barrier_wait(barrier);
  if (result == PTHREAD_BARRIER_SERIAL_THREAD) {
    waited.withdraw();
  } else {
    waited.end();
  }
  return result;
}

int lockwright_join(pthread_t thread, void** value) {
  return join(thread, value, LOCKWRIGHT_CALLER);
}

int lockwright_thrd_join(thrd_t thread, int* value) {
  void* result = nullptr;
  const int error = join(thread, &result, LOCKWRIGHT_CALLER);
  if (value != nullptr) {
    *value = static_cast<int>(reinterpret_cast<std::intptr_t>(result));
  }
  return lockwright::interpose::c11(error);
}

int lockwright_once(pthread_once_t* control, void (*function)()) {
  return once(control, function, LOCKWRIGHT_CALLER);
}

void lockwright_call_once(once_flag* flag, void (*function)()) {
  once(reinterpret_cast<pthread_once_t*>(flag), function, LOCKWRIGHT_CALLER);
}

}  // extern "C"

#define OBJECT_FUNCTION(function, name)                         \
  VERSIONED_DEFAULT(lockwright_##function, name, "GLIBC_2.34"); \
  VERSIONED_OLD(lockwright_##function, old, name, BASE_VERSION)

OBJECT_FUNCTION(sem_wait, "sem_wait");
OBJECT_FUNCTION(sem_timedwait, "sem_timedwait");
OBJECT_FUNCTION(sem_post, "sem_post");
OBJECT_FUNCTION(barrier_wait, "pthread_barrier_wait");
OBJECT_FUNCTION(join, "pthread_join");
OBJECT_FUNCTION(once, "pthread_once");
VERSIONED_DEFAULT(lockwright_sem_clockwait, "sem_clockwait", "GLIBC_2.34");
VERSIONED_OLD(lockwright_sem_clockwait, old, "sem_clockwait", "GLIBC_2.30");
C11_NAME(thrd_join);
C11_NAME(call_once);
