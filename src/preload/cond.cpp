// pthread_cond_*: the entry points.
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <cstring>
#include <new>

#include "interpose/deadline.hpp"
#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "preload/cancellable_sleep.hpp"
#include "preload/cond.hpp"
#include "preload/condvar.hpp"
#include "preload/mutex.hpp"
#include "preload/poll_choice.hpp"
#include "preload/watch.hpp"

namespace lockwright::preload {

using interpose::clock_of;
using interpose::deadline_clock;
using interpose::is_known;
using interpose::is_refused;
using interpose::is_valid;
using interpose::kernel_time_in;
using interpose::real;
using interpose::time_left;
using interpose::timed;

namespace {

using wait_in_progress = wait_with<environment, mutex, condvar>;

thread_local constinit poll_choice<environment> own_choice{};

/// Returns true if the caller polls before it sleeps. It does not in a fixed order of waiters.
bool begins_to_poll(const condvar& cond, deadline_clock clock, const timespec* deadline) {
  return append_to_condvar.is_adaptive() &&
         (deadline == nullptr || !is_refused(clock, *deadline)) && own_choice.begin(&cond);
}

/// Polls; returns true once signalled.
bool is_signalled_soon(wait_in_progress& wait) {
  own_choice.poll_while([&wait] { return wait.self.may_poll_on(); });
  return wait.self.end_polling();
}

/// Called after a long jump into the waiting function, whose own variables that jump would spoil.
[[gnu::noinline]] void on_cancel(void* argument) {
  static_cast<wait_in_progress*>(argument)->cancel();
}

/// Returns true once signalled, false if the deadline came first.
[[gnu::noinline]] bool sleep_until_signalled(wait_in_progress& wait, deadline_clock clock,
                                             const timespec* deadline) {
  const bool in_time = deadline == nullptr || !is_refused(clock, *deadline);
  return wait.sleep_until_signalled(
      in_time, [&] { return sleep_cancellably(wait.self, clock, deadline) != -ETIMEDOUT; });
}

/// Does the same with a cancellation handler. Separate from the loop, because a long jump enters
/// the handler and would spoil the loop's variables.
bool await_signal(wait_in_progress& wait, deadline_clock clock, const timespec* deadline) {
  bool signalled = false;
  pthread_cleanup_push(on_cancel, &wait);
  signalled = sleep_until_signalled(wait, clock, deadline);
  pthread_cleanup_pop(0);
  if (signalled) {
    wait.self.await_grant();
  }
  return signalled;
}

int wait_replaced(pthread_cond_t* cond, pthread_mutex_t* with, deadline_clock clock,
                  const timespec* deadline) {
  if (deadline != nullptr && !is_valid(*deadline)) {
    return EINVAL;
  }
  if (int refusal = mutex::may_wait(with)) {
    return refusal;
  }
  count(event::cond_waited);
  wait_in_progress wait{condvar::of(cond), waiter(with)};
  wait.self.keeps_mutex = mutex::stays_locked_in_wait(with);
  if (is_watched()) {
    valgrind::hide(cond, sizeof *cond);
    valgrind::hide(with, sizeof *with);
    valgrind::hide(&wait, sizeof wait);
  }
  const bool polls = begins_to_poll(wait.cond, clock, deadline);
  if (polls) {
    wait.self.begin_to_poll();
  }
  wait.cond.enqueue_by_setting(wait.self, polls);
  // Only the C library refuses here; its mutexes have no signalled waiters.
  if (const int refusal = mutex::release(with, wait.is_counted)) {
    if (polls) {
      own_choice.leave();
      wait.self.end_polling();
    }
    if (!wait.withdraw() && wait.self.by_signal) {
      wait.cond.signal();
    }
    return refusal;
  }
  const bool sleeps = !polls || !is_signalled_soon(wait);
  if (polls && sleeps) {
    wait.cond.let_others_before(wait.self);
  }
  const bool signalled = await_signal(wait, clock, deadline);
  own_choice.end(polls, sleeps);
  if (signalled && is_watched()) {
    valgrind::happens_after(cond);
  }
  const int result = wait.reacquire_mutex();
  return result != 0 ? result : signalled ? 0 : ETIMEDOUT;
}

void announce_signal(pthread_cond_t* cond) {
  if (is_watched()) {
    valgrind::happens_before(cond);
  }
}

/// Returns true if the C library performs the wait.
bool is_left_to_library(pthread_cond_t* cond, pthread_mutex_t* with) {
  condvar::match_library(cond, mutex::is_left_to_library(with));
  return condvar::is_shared(cond);
}

/// Returns wait(deadline by the kernel's clock), a wait of the C library. If it times out too early
/// by the program's clock it is a spurious wake-up: repeating it could lose a signal.
template <class Wait>
int wait_library(deadline_clock clock, const timespec* deadline, Wait wait) {
  if (!clock.replaced || !is_known(clock.id) || !is_valid(*deadline)) {
    return wait(deadline);
  }
  const timespec until = kernel_time_in(clock.id, time_left(clock, *deadline));
  const int result = wait(&until);
  return result == ETIMEDOUT && time_left(clock, *deadline) != 0 ? 0 : result;
}

}  // namespace

int timedwait(pthread_cond_t* cond, pthread_mutex_t* with, timed function,
              const timespec* deadline) {
  if (is_left_to_library(cond, with)) {
    return wait_library(
        clock_of(function, condvar::clock_of_shared(cond)), deadline,
        [cond, with](const timespec* until) { return real.cond_timedwait(cond, with, until); });
  }
  return wait_replaced(cond, with, clock_of(function, condvar::of(cond).clock()), deadline);
}

}  // namespace lockwright::preload

using namespace lockwright::preload;

extern "C" {

int lockwright_cond_init(pthread_cond_t* cond, const pthread_condattr_t* attributes) noexcept {
  clockid_t clock = CLOCK_REALTIME;
  if (attributes != nullptr) {
    int shared = PTHREAD_PROCESS_PRIVATE;
    pthread_condattr_getpshared(attributes, &shared);
    if (shared != PTHREAD_PROCESS_PRIVATE) {
      return real.cond_init(cond, attributes);
    }
    pthread_condattr_getclock(attributes, &clock);
  }
  std::memset(cond, 0, sizeof *cond);
  ::new (static_cast<void*>(cond)) condvar(clock);
  return 0;
}

int lockwright_cond_destroy(pthread_cond_t* cond) noexcept {
  if (condvar::is_shared(cond)) {
    return real.cond_destroy(cond);
  }
  condvar::of(cond).drain();
  if (is_watched()) {
    valgrind::forget_order(cond);
    valgrind::show(cond, sizeof *cond);
  }
  return 0;
}

// Not noexcept, the three waits: a cancellation unwinds through them.

int lockwright_cond_wait(pthread_cond_t* cond, pthread_mutex_t* with) {
  if (is_left_to_library(cond, with)) {
    return real.cond_wait(cond, with);
  }
  return wait_replaced(cond, with, {CLOCK_REALTIME, false}, nullptr);
}

int lockwright_cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* with,
                              const timespec* deadline) {
  return timedwait(cond, with, timed::cond_timedwait, deadline);
}

int lockwright_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* with, clockid_t id,
                              const timespec* deadline) {
  const deadline_clock clock = clock_of(timed::cond_clockwait, id);
  if (is_left_to_library(cond, with)) {
    return wait_library(clock, deadline, [cond, with, id](const timespec* until) {
      return real.cond_clockwait(cond, with, id, until);
    });
  }
  return is_known(id) ? wait_replaced(cond, with, clock, deadline) : EINVAL;
}

int lockwright_cond_signal(pthread_cond_t* cond) noexcept {
  if (condvar::is_shared(cond)) {
    return real.cond_signal(cond);
  }
  own_choice.note_signal();
  announce_signal(cond);
  condvar::of(cond).signal();
  return 0;
}

int lockwright_cond_broadcast(pthread_cond_t* cond) noexcept {
  if (condvar::is_shared(cond)) {
    return real.cond_broadcast(cond);
  }
  announce_signal(cond);
  condvar::of(cond).broadcast();
  return 0;
}

}  // extern "C"

VERSIONED_DEFAULT(lockwright_cond_init, "pthread_cond_init", COND_VERSION);
VERSIONED_DEFAULT(lockwright_cond_destroy, "pthread_cond_destroy", COND_VERSION);
VERSIONED_DEFAULT(lockwright_cond_wait, "pthread_cond_wait", COND_VERSION);
VERSIONED_DEFAULT(lockwright_cond_timedwait, "pthread_cond_timedwait", COND_VERSION);
VERSIONED_DEFAULT(lockwright_cond_signal, "pthread_cond_signal", COND_VERSION);
VERSIONED_DEFAULT(lockwright_cond_broadcast, "pthread_cond_broadcast", COND_VERSION);
VERSIONED_DEFAULT(lockwright_cond_clockwait, "pthread_cond_clockwait", "GLIBC_2.34");
VERSIONED_OLD(lockwright_cond_clockwait, old, "pthread_cond_clockwait", "GLIBC_2.30");

#if defined(__x86_64__)
// The first condition variables of this architecture were as large as today's
// and zero when initialised, so programs bound to them use the same implementation.
VERSIONED_OLD(lockwright_cond_init, first, "pthread_cond_init", BASE_VERSION);
VERSIONED_OLD(lockwright_cond_destroy, first, "pthread_cond_destroy", BASE_VERSION);
VERSIONED_OLD(lockwright_cond_wait, first, "pthread_cond_wait", BASE_VERSION);
VERSIONED_OLD(lockwright_cond_timedwait, first, "pthread_cond_timedwait", BASE_VERSION);
VERSIONED_OLD(lockwright_cond_signal, first, "pthread_cond_signal", BASE_VERSION);
VERSIONED_OLD(lockwright_cond_broadcast, first, "pthread_cond_broadcast", BASE_VERSION);
#endif
