// Condition variables, with mutexes of every kind.
#include "kinds.hpp"
#include "probes.hpp"

namespace conformance {
namespace {

// Returns the result of a wait that another thread ends.
int signalled_wait(pthread_cond_t* cond, pthread_mutex_t* mutex, int how) {
  OK(pthread_mutex_lock(mutex));
  const int refusal = pthread_cond_timedwait(cond, mutex, &past);
  OK(pthread_mutex_unlock(mutex));
  if (refusal != ETIMEDOUT) return refusal;
  bool go = false;
  int result = -1;
  bool held_after = false;
  check::Worker waiter{[&](check::Worker& self) {
    OK(pthread_mutex_lock(mutex));
    self.about_to_block();
    const timespec late = check::after_ms(CLOCK_REALTIME, 60'000);
    const timespec late_monotonic = check::after_ms(CLOCK_MONOTONIC, 60'000);
    do {
      result = how == 0   ? pthread_cond_wait(cond, mutex)
               : how == 1 ? pthread_cond_timedwait(cond, mutex, &late)
                          : pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &late_monotonic);
    } while (result == 0 && !go);
    held_after = !check::is_free(mutex);
    OK(pthread_mutex_unlock(mutex));
  }};
  waiter.wait_until_blocked();
  OK(pthread_mutex_lock(mutex));
  go = true;
  OK(how == 1 ? pthread_cond_broadcast(cond) : pthread_cond_signal(cond));
  OK(pthread_mutex_unlock(mutex));
  waiter.join();
  probe_is("and it is held", held_after);
  return result;
}

void wait_with(pthread_cond_t* cond, pthread_mutex_t* mutex, const Kind& kind) {
  OK(pthread_mutex_lock(mutex));
  for (const timespec& when : {past, long_past, too_many, negative})
    probe("timedwait until " + std::to_string(when.tv_sec) + " " + std::to_string(when.tv_nsec),
          pthread_cond_timedwait(cond, mutex, &when));
  timespec when = soon();
  probe("timedwait", pthread_cond_timedwait(cond, mutex, &when));
  probe_is("and it is held", !check::is_free(mutex));
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    when = soon(clock);
    probe("clockwait with clock " + std::to_string(clock),
          pthread_cond_clockwait(cond, mutex, clock, &when));
  }
  for (const clockid_t clock :
       {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME, clockid_t{77}})
    probe("clockwait with clock " + std::to_string(clock),
          pthread_cond_clockwait(cond, mutex, clock, &past));
  probe("clockwait with an invalid time",
        pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &too_many));
  probe_is("and it is held", !check::is_free(mutex));
  if (kind.type == PTHREAD_MUTEX_ERRORCHECK) probe("lock again", pthread_mutex_lock(mutex));
  probe("unlock", pthread_mutex_unlock(mutex));
  if (kind.checks_owner()) {
    probe("wait without holding it", pthread_cond_wait(cond, mutex));
    probe("timedwait without holding it", pthread_cond_timedwait(cond, mutex, &past));
    probe("timedwait without holding it, with an invalid time",
          pthread_cond_timedwait(cond, mutex, &too_many));
    probe("clockwait without holding it",
          pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &past));
    OK(pthread_mutex_lock(mutex));
    probe("timedwait while another holds it",
          in_thread([&] { return pthread_cond_timedwait(cond, mutex, &past); }));
    OK(pthread_mutex_unlock(mutex));
  }
  probe_is("and it is free", check::is_free(mutex));
  for (const int how : {0, 1, 2})
    probe("wait " + std::to_string(how), signalled_wait(cond, mutex, how));
}

}  // namespace

// One condition variable, with each kind of mutex.
CASE("condition variables") {
  for (const int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
    pthread_condattr_t attributes;
    OK(pthread_condattr_init(&attributes));
    OK(pthread_condattr_setpshared(&attributes, shared));
    pthread_cond_t cond;
    group = shared == PTHREAD_PROCESS_SHARED ? "shared cond" : "cond";
    const std::string name = group;
    probe("init", pthread_cond_init(&cond, &attributes));
    OK(pthread_condattr_destroy(&attributes));
    probe("signal without waiters", pthread_cond_signal(&cond));
    probe("broadcast without waiters", pthread_cond_broadcast(&cond));
    for (const Kind& kind : all_kinds()) {
      group = name + " with mutex " + kind.name();
      // Locking with a priority ceiling needs a privilege.
      if (kind.protocol == PTHREAD_PRIO_PROTECT) continue;
      pthread_mutex_t mutex;
      if (kind.init(&mutex) != 0) continue;
      wait_with(&cond, &mutex, kind);
      probe("destroy", pthread_mutex_destroy(&mutex));
    }
    group = name;
    probe("destroy", pthread_cond_destroy(&cond));
  }
  group = "static cond";
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  wait_with(&cond, &mutex, Kind{});
  probe("destroy", pthread_cond_destroy(&cond));
};

CASE("clocks") {
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    group = "cond of clock " + std::to_string(clock);
    pthread_condattr_t attributes;
    OK(pthread_condattr_init(&attributes));
    probe("setclock", pthread_condattr_setclock(&attributes, clock));
    pthread_cond_t cond;
    OK(pthread_cond_init(&cond, &attributes));
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_lock(&mutex));
    const timespec when = soon(clock);
    probe("timedwait", pthread_cond_timedwait(&cond, &mutex, &when));
    probe_is("not too early",
             check::nanoseconds(clock) >= when.tv_sec * std::int64_t{1'000'000'000} + when.tv_nsec);
    const clockid_t other = clock == CLOCK_REALTIME ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    const timespec then = soon(other);
    probe("clockwait with the other clock", pthread_cond_clockwait(&cond, &mutex, other, &then));
    OK(pthread_mutex_unlock(&mutex));
    probe("destroy", pthread_cond_destroy(&cond));
    OK(pthread_condattr_destroy(&attributes));
  }
};

// Other threads try a recursive mutex that was locked twice and whose owner waits.
CASE("depth of two") {
  group = "cond with mutex recursive locked twice";
  pthread_mutex_t mutex;
  check::init_mutex(&mutex, PTHREAD_MUTEX_RECURSIVE);
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int waited = -1;
  int unlocks = 0;
  bool is_free = false;
  // On a busy machine the check may come after the wait, and is then repeated.
  bool in_time = false;
  for (std::int64_t ms = 30; !in_time; ms *= 4) {
    unlocks = 0;
    const std::int64_t end = check::nanoseconds(CLOCK_REALTIME) + ms * 1'000'000;
    check::Worker waiter{[&](check::Worker& self) {
      OK(pthread_mutex_lock(&mutex));
      OK(pthread_mutex_lock(&mutex));
      self.about_to_block();
      const timespec when = check::to_timespec(end);
      waited = pthread_cond_timedwait(&cond, &mutex, &when);
      while (pthread_mutex_unlock(&mutex) == 0) ++unlocks;
    }};
    waiter.wait_until_blocked();
    is_free = check::is_free(&mutex);
    in_time = check::nanoseconds(CLOCK_REALTIME) < end;
  }
  probe_is("others can lock it meanwhile", is_free);
  probe("timedwait", waited);
  report("unlocks after the wait", std::to_string(unlocks));
};

// The C library counts a waiter among the users of the mutex, so that it cannot be destroyed.
CASE("destroy while waiting") {
  for (const Kind& kind : all_kinds()) {
    // Locking with a priority ceiling needs a privilege; a robust mutex can always be destroyed.
    if (kind.protocol == PTHREAD_PRIO_PROTECT || kind.robust == PTHREAD_MUTEX_ROBUST) continue;
    pthread_mutex_t mutex;
    if (kind.init(&mutex) != 0) continue;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    for (const bool cancelled : {false, true}) {
      group = "mutex " + kind.name() + " that waiters will need, " +
              (cancelled ? "cancelled" : "signalled");
      bool go = false;
      auto wait = [&](check::Worker& self) {
        OK(pthread_mutex_lock(&mutex));
        pthread_cleanup_push(
            [](void* locked) { OK(pthread_mutex_unlock(static_cast<pthread_mutex_t*>(locked))); },
            &mutex);
        self.about_to_block();
        while (!go) OK(pthread_cond_wait(&cond, &mutex));
        pthread_cleanup_pop(1);
      };
      check::Worker first{wait};
      check::Worker second{wait};
      first.wait_until_blocked();
      second.wait_until_blocked();
      check::wait_until([&] { return check::is_free(&mutex); });
      probe("destroy", pthread_mutex_destroy(&mutex));
      probe("lock", pthread_mutex_lock(&mutex));
      probe("destroy while held", pthread_mutex_destroy(&mutex));
      probe("unlock", pthread_mutex_unlock(&mutex));
      if (cancelled) OK(pthread_cancel(first.handle()));
      if (cancelled) first.join();
      if (cancelled) probe("destroy with one of two left", pthread_mutex_destroy(&mutex));
      OK(pthread_mutex_lock(&mutex));
      go = true;
      OK(pthread_cond_broadcast(&cond));
      OK(pthread_mutex_unlock(&mutex));
      if (!cancelled) first.join();
      second.join();
      probe("destroy in the end", pthread_mutex_destroy(&mutex));
      probe("init", kind.init(&mutex));
    }
    OK(pthread_mutex_lock(&mutex));
    timespec when = soon();
    OK(pthread_cond_timedwait(&cond, &mutex, &when) == ETIMEDOUT ? 0 : EINVAL);
    OK(pthread_mutex_unlock(&mutex));
    probe("destroy after a timeout", pthread_mutex_destroy(&mutex));
  }
};

// Undefined by POSIX; by the C library the caller holds the mutex on return.
CASE("free mutex") {
  for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ADAPTIVE_NP}) {
    pthread_mutex_t mutex;
    check::init_mutex(&mutex, type);
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    group = std::string{"cond with free mutex "} + check::type_name(type);
    for (const bool later : {false, true}) {
      const timespec when = later ? soon() : past;
      probe("timedwait", pthread_cond_timedwait(&cond, &mutex, &when));
      probe_is("and it is held", !check::is_free(&mutex));
      probe("unlock", pthread_mutex_unlock(&mutex));
      probe_is("and it is free", check::is_free(&mutex));
    }
    for (const bool broadcast : {false, true}) {
      int results[2] = {-1, -1};
      bool held[2] = {false, false};
      auto wait = [&](check::Worker& self, std::size_t i) {
        self.about_to_block();
        results[i] = pthread_cond_wait(&cond, &mutex);
        held[i] = !check::is_free(&mutex);
        OK(pthread_mutex_unlock(&mutex));
      };
      check::Worker first{[&](check::Worker& self) { wait(self, 0); }};
      check::Worker second{[&](check::Worker& self) { wait(self, 1); }};
      first.wait_until_blocked();
      second.wait_until_blocked();
      check::sleep_ms(2);
      probe("lock", pthread_mutex_lock(&mutex));
      OK(broadcast ? pthread_cond_broadcast(&cond) : pthread_cond_signal(&cond));
      probe("unlock", pthread_mutex_unlock(&mutex));
      if (!broadcast) OK(pthread_cond_signal(&cond));
      first.join();
      second.join();
      for (const std::size_t i : {0, 1}) {
        probe("wait", results[i]);
        probe_is("and it is held", held[i]);
      }
      probe_is("and it is free", check::is_free(&mutex));
    }
    check::Worker waiter{[&](check::Worker& self) {
      pthread_cleanup_push(
          [](void* argument) {
            const auto locked = static_cast<pthread_mutex_t*>(argument);
            probe_is("cancelled, and it is held", !check::is_free(locked));
            probe("unlock", pthread_mutex_unlock(locked));
          },
          &mutex);
      self.about_to_block();
      for (;;) pthread_cond_wait(&cond, &mutex);
      pthread_cleanup_pop(0);
    }};
    waiter.wait_until_blocked();
    OK(pthread_cancel(waiter.handle()));
    waiter.join();
    probe_is("and it is free", check::is_free(&mutex));
  }
};

}  // namespace conformance
