// Timed waits on both clocks: they end no earlier than the deadline, with the mutex held,
// and never lose a signal that races with the timeout.
#include "../support/check.hpp"

namespace {

constexpr clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};

// Calls clockwait with `clock`, or timedwait, whose clock is that of the attribute.
int wait_until_time(pthread_cond_t* cond, pthread_mutex_t* mutex, bool clockwait, clockid_t clock,
                    const timespec& deadline) {
  return clockwait ? pthread_cond_clockwait(cond, mutex, clock, &deadline)
                   : pthread_cond_timedwait(cond, mutex, &deadline);
}

template <class Body>
void with_each_kind(Body body) {
  for (const clockid_t clock : clocks)
    for (const bool clockwait : {false, true})
      for (const int type : check::all_types) {
        check::Mutex mutex{type};
        pthread_cond_t cond;
        // clockwait ignores the attribute: give it the other clock
        const clockid_t attribute = clockwait ? clocks[clock == CLOCK_REALTIME ? 1 : 0] : clock;
        check::init_cond(&cond, attribute);
        OK(pthread_mutex_lock(mutex));
        body(&cond, mutex, clockwait, clock);
        CHECK(!check::is_free(mutex));
        OK(pthread_mutex_unlock(mutex));
        CHECK(check::is_free(mutex));
        OK(pthread_cond_destroy(&cond));
      }
}

CASE("no earlier than the deadline") {
  with_each_kind([](pthread_cond_t* cond, pthread_mutex_t* mutex, bool clockwait, clockid_t clock) {
    const timespec deadline = check::after_ms(clock, 4);
    CHECK_RC(ETIMEDOUT, wait_until_time(cond, mutex, clockwait, clock, deadline));
    CHECK(check::nanoseconds(clock) >=
          deadline.tv_sec * std::int64_t{1'000'000'000} + deadline.tv_nsec);
  });
};

CASE("signal before the deadline") {
  with_each_kind([](pthread_cond_t* cond, pthread_mutex_t* mutex, bool clockwait, clockid_t clock) {
    check::Worker signaller{[&](check::Worker&) {
      OK(pthread_mutex_lock(mutex));  // free only once the other thread waits
      OK(pthread_cond_signal(cond));
      OK(pthread_mutex_unlock(mutex));
    }};
    const timespec late = check::after_ms(clock, 60'000);
    OK(wait_until_time(cond, mutex, clockwait, clock, late));
    signaller.join();
  });
};

// The deadline passes while another thread holds the mutex: the wait must not return before it is
// free.
CASE("timeout waits for the mutex") {
  with_each_kind([](pthread_cond_t* cond, pthread_mutex_t* mutex, bool clockwait, clockid_t clock) {
    std::atomic<bool> holding{false};
    volatile bool released = false;
    const timespec deadline = check::after_ms(clock, 3);
    check::Worker holder{[&](check::Worker&) {
      OK(pthread_mutex_lock(mutex));
      holding = true;
      check::wait_until([&] {
        return check::nanoseconds(clock) >
               deadline.tv_sec * std::int64_t{1'000'000'000} + deadline.tv_nsec + 1'000'000;
      });
      released = true;
      OK(pthread_mutex_unlock(mutex));
    }};
    const int result = wait_until_time(cond, mutex, clockwait, clock, deadline);
    CHECK_RC(ETIMEDOUT, result);
    CHECK(!holding || released);
    // release the mutex so that a late holder can end
    if (!holding) {
      const timespec later = check::after_ms(clock, 20);
      CHECK_RC(ETIMEDOUT, wait_until_time(cond, mutex, clockwait, clock, later));
    }
    while (!released) {
      const timespec later = check::after_ms(clock, 2);
      CHECK_RC(ETIMEDOUT, wait_until_time(cond, mutex, clockwait, clock, later));
    }
    holder.join();
  });
};

// One thread waits with a short timeout, another without; one signal is sent around the time of the
// timeout. If the first wait times out although the signal came before its end, the signal must
// wake the second.
CASE("signal racing with the timeout") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  int signalled_in_time = 0;
  int timed_out = 0;
  constexpr int rounds = 150;
  check::Random random{17};
  for (int round = 0; round < rounds; ++round) {
    int waiting = 0;
    bool untimed_may_go = false;
    bool untimed_woken = false;
    bool end = false;
    int timed_result = -1;
    const std::int64_t deadline = check::nanoseconds(CLOCK_REALTIME) + 800'000;
    check::Worker timed{[&](check::Worker&) {
      OK(pthread_mutex_lock(&mutex));
      ++waiting;
      const timespec when = check::to_timespec(deadline);
      timed_result = pthread_cond_timedwait(&cond, &mutex, &when);
      OK(pthread_mutex_unlock(&mutex));
    }};
    check::Worker untimed{[&](check::Worker&) {
      OK(pthread_mutex_lock(&mutex));
      ++waiting;
      while (!untimed_may_go && !end) OK(pthread_cond_wait(&cond, &mutex));
      untimed_woken = true;
      OK(pthread_mutex_unlock(&mutex));
    }};
    check::wait_until_under(&mutex, [&] { return waiting == 2; });
    const std::int64_t when = deadline + static_cast<std::int64_t>(random.below(60'000)) - 30'000;
    while (check::nanoseconds(CLOCK_REALTIME) < when) {
    }
    OK(pthread_mutex_lock(&mutex));
    untimed_may_go = true;
    OK(pthread_cond_signal(&cond));
    OK(pthread_mutex_unlock(&mutex));
    timed.join();
    if (timed_result == ETIMEDOUT) {
      ++timed_out;
      untimed.join();  // hangs if the signal was lost
    } else {
      CHECK_RC(0, timed_result);
      ++signalled_in_time;
      OK(pthread_mutex_lock(&mutex));
      end = true;
      OK(pthread_cond_signal(&cond));
      OK(pthread_mutex_unlock(&mutex));
      untimed.join();
    }
    CHECK(untimed_woken);
  }
  return "in time " + std::to_string(signalled_in_time) + " timed out " + std::to_string(timed_out);
};

}  // namespace
