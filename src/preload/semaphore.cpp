// sem_*: the entry points. Without a share in LOCKWRIGHT_SEM_APPEND all go to the C library, before
// whose waits a thread may poll; with one, those of shared and named semaphores still do.
#include "preload/semaphore.hpp"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include <cstring>
#include <new>

#include "interpose/deadline.hpp"
#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "preload/cancellable_sleep.hpp"
#include "preload/poll_choice.hpp"
#include "preload/watch.hpp"

namespace lockwright::preload {

using interpose::clock_of;
using interpose::deadline_clock;
using interpose::is_known;
using interpose::is_refused;
using interpose::is_valid;
using interpose::library_until;
using interpose::real;
using interpose::timed;

namespace {

bool is_left_to_library(const sem_t* sem) {
  return !append_to_semaphore.is_set() || semaphore::is_shared(sem);
}

int fail(int error) {
  errno = error;
  return -1;
}

/// Returns 0 for a caller that has taken a unit.
int succeed(sem_t* sem) {
  if (is_watched()) {
    valgrind::happens_after(sem);
  }
  return 0;
}

using wait_in_progress = wait_for_unit<semaphore>;

/// Called after a long jump into the waiting function, whose own variables that jump would spoil.
[[gnu::noinline]] void on_cancel(void* argument) {
  static_cast<wait_in_progress*>(argument)->cancel();
}

/// Returns 0 with a unit, or the error number.
[[gnu::noinline]] int sleep_until_granted(wait_in_progress& wait, deadline_clock clock,
                                          const timespec* deadline) {
  long status = deadline == nullptr || !is_refused(clock, *deadline) ? 0 : -ETIMEDOUT;
  const bool granted = wait.sleep_until_granted(status == 0, [&] {
    status = sleep_cancellably(wait.self, clock, deadline);
    return status != -ETIMEDOUT && status != -EINTR;
  });
  return granted ? 0 : static_cast<int>(-status);
}

/// Does the same with a cancellation handler. Separate from the loop, because a long jump enters
/// the handler and would spoil the loop's variables.
int await_grant(wait_in_progress& wait, deadline_clock clock, const timespec* deadline) {
  int error = 0;
  pthread_cleanup_push(on_cancel, &wait);
  error = sleep_until_granted(wait, clock, deadline);
  pthread_cleanup_pop(0);
  return error;
}

int wait_replaced(sem_t* sem, deadline_clock clock, const timespec* deadline) {
  pthread_testcancel();
  if (deadline != nullptr && !is_valid(*deadline)) {
    return fail(EINVAL);
  }
  semaphore& replaced = semaphore::of(sem);
  if (replaced.try_take()) {
    return succeed(sem);
  }
  wait_in_progress wait{replaced};
  if (is_watched()) {
    valgrind::hide(&wait, sizeof wait);
  }
  if (replaced.take_or_enqueue(wait.self)) {
    return succeed(sem);
  }
  const int error = await_grant(wait, clock, deadline);
  return error == 0 ? succeed(sem) : fail(error);
}

thread_local constinit poll_choice<environment> own_choice{};

/// Takes a unit of a C library's semaphore if there is one, or one comes while the caller polls.
/// polled: set to whether it polled. Unlike sem_trywait(), leaves errno as it was.
bool takes_soon(sem_t* sem, bool may_poll, bool& polled) {
  const int before = errno;
  bool is_taken = real.sem_trywait(sem) == 0;
  polled = !is_taken && may_poll && own_choice.begin(sem);
  if (polled) {
    own_choice.poll_while([sem, &is_taken] {
      is_taken = real.sem_trywait(sem) == 0;
      return !is_taken;
    });
    if (is_taken) {
      own_choice.end(true, false);
    }
  }
  errno = before;
  return is_taken;
}

/// Waits for a unit of a C library's semaphore by `wait`, unless it comes soon.
template <class Wait>
int poll_and_wait(sem_t* sem, deadline_clock clock, const timespec* deadline, Wait wait) {
  // The C library refuses an invalid time even where there is a unit.
  const bool is_refused_there =
      deadline != nullptr && (!is_valid(*deadline) || !is_known(clock.id));
  // Helgrind sees no order in a sem_trywait() that succeeds.
  if (is_refused_there || !append_to_semaphore.is_adaptive() || is_watched()) {
    return wait();
  }
  pthread_testcancel();
  bool polled = false;
  if (takes_soon(sem, deadline == nullptr || !is_refused(clock, *deadline), polled)) {
    return 0;
  }
  const int result = wait();
  own_choice.end(polled, true);
  return result;
}

/// As library_until(), for a call whose result is in errno.
template <class Wait>
int library_wait(deadline_clock clock, const timespec* deadline, Wait wait) {
  if (deadline == nullptr || !clock.replaced) {
    return wait(deadline);
  }
  const int error = library_until(
      clock, deadline, [wait](const timespec* until) { return wait(until) == 0 ? 0 : errno; });
  return error == 0 ? 0 : fail(error);
}

}  // namespace
}  // namespace lockwright::preload

using namespace lockwright::preload;

extern "C" {

int lockwright_sem_init(sem_t* sem, int shared, unsigned count) noexcept {
  if (!append_to_semaphore.is_set() || shared != 0) {
    return real.sem_init(sem, shared, count);
  }
  if (count > SEM_VALUE_MAX) {
    return fail(EINVAL);
  }
  std::memset(sem, 0, sizeof *sem);
  ::new (static_cast<void*>(sem)) semaphore(count);
  if (is_watched()) {
    valgrind::hide(sem, sizeof *sem);
  }
  return 0;
}

int lockwright_sem_destroy(sem_t* sem) noexcept {
  if (is_left_to_library(sem)) {
    return real.sem_destroy(sem);
  }
  if (is_watched()) {
    valgrind::forget_order(sem);
    valgrind::show(sem, sizeof *sem);
  }
  return 0;
}

int lockwright_sem_trywait(sem_t* sem) noexcept {
  if (is_left_to_library(sem)) {
    return real.sem_trywait(sem);
  }
  return semaphore::of(sem).try_take() ? succeed(sem) : fail(EAGAIN);
}

int lockwright_sem_post(sem_t* sem) noexcept {
  if (is_left_to_library(sem)) {
    own_choice.note_signal();
    return real.sem_post(sem);
  }
  if (is_watched()) {
    valgrind::happens_before(sem);
  }
  return semaphore::of(sem).post() ? 0 : fail(EOVERFLOW);
}

int lockwright_sem_getvalue(sem_t* sem, int* value) noexcept {
  if (is_left_to_library(sem)) {
    return real.sem_getvalue(sem, value);
  }
  *value = static_cast<int>(semaphore::of(sem).count());
  return 0;
}

// Not noexcept, the three waits: a cancellation unwinds through them.

int lockwright_sem_wait(sem_t* sem) {
  constexpr deadline_clock clock{CLOCK_REALTIME, false};
  if (is_left_to_library(sem)) {
    return poll_and_wait(sem, clock, nullptr, [sem] { return real.sem_wait(sem); });
  }
  return wait_replaced(sem, clock, nullptr);
}

int lockwright_sem_timedwait(sem_t* sem, const timespec* deadline) {
  const deadline_clock clock = clock_of(timed::sem_timedwait, CLOCK_REALTIME);
  if (is_left_to_library(sem)) {
    return poll_and_wait(sem, clock, deadline, [=] {
      return library_wait(clock, deadline,
                          [sem](const timespec* until) { return real.sem_timedwait(sem, until); });
    });
  }
  return wait_replaced(sem, clock, deadline);
}

int lockwright_sem_clockwait(sem_t* sem, clockid_t id, const timespec* deadline) {
  const deadline_clock clock = clock_of(timed::sem_clockwait, id);
  if (is_left_to_library(sem)) {
    return poll_and_wait(sem, clock, deadline, [=] {
      return library_wait(clock, deadline, [sem, id](const timespec* until) {
        return real.sem_clockwait(sem, id, until);
      });
    });
  }
  return is_known(id) ? wait_replaced(sem, clock, deadline) : fail(EINVAL);
}

}  // extern "C"

#define SEMAPHORE_FUNCTION(name)                                        \
  VERSIONED_DEFAULT(lockwright_sem_##name, "sem_" #name, "GLIBC_2.34"); \
  VERSIONED_OLD(lockwright_sem_##name, old, "sem_" #name, BASE_VERSION)

SEMAPHORE_FUNCTION(init);
SEMAPHORE_FUNCTION(destroy);
SEMAPHORE_FUNCTION(wait);
SEMAPHORE_FUNCTION(trywait);
SEMAPHORE_FUNCTION(timedwait);
SEMAPHORE_FUNCTION(post);
SEMAPHORE_FUNCTION(getvalue);
VERSIONED_DEFAULT(lockwright_sem_clockwait, "sem_clockwait", "GLIBC_2.34");
VERSIONED_OLD(lockwright_sem_clockwait, old, "sem_clockwait", "GLIBC_2.30");
