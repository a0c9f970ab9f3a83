// Timed locks: they give up no earlier than the deadline, acquire a mutex that becomes free before
// it, and leave no trace in the queue when they give up.
#include "../support/check.hpp"

#include "admission.hpp"

namespace {

constexpr clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};

int lock_until(pthread_mutex_t* mutex, clockid_t clock, bool clocklock, const timespec& deadline) {
  return clocklock ? pthread_mutex_clocklock(mutex, clock, &deadline)
                   : pthread_mutex_timedlock(mutex, &deadline);
}

template <class Body>
void with_each_kind(Body body) {
  for (const int type : check::all_types)
    for (const clockid_t clock : clocks)
      for (const bool clocklock : {false, true}) {
        if (!clocklock && clock == CLOCK_MONOTONIC)
          continue;  // timedlock uses the real-time clock only
        check::Mutex mutex{type};
        body(mutex, clock, clocklock);
        CHECK(check::is_free(mutex));
      }
}

CASE("gives up at the deadline") {
  with_each_kind([](pthread_mutex_t* mutex, clockid_t clock, bool clocklock) {
    OK(pthread_mutex_lock(mutex));
    check::Worker([&](check::Worker&) {
      const timespec deadline = check::after_ms(clock, 4);
      CHECK_RC(ETIMEDOUT, lock_until(mutex, clock, clocklock, deadline));
      CHECK(check::nanoseconds(clock) >=
            deadline.tv_sec * std::int64_t{1'000'000'000} + deadline.tv_nsec);
      for (const timespec& past : {timespec{0, 0}, timespec{-1, 0}, check::after_ms(clock, -1)})
        CHECK_RC(ETIMEDOUT, lock_until(mutex, clock, clocklock, past));
    }).join();
    OK(pthread_mutex_unlock(mutex));
  });
};

CASE("takes a released mutex") {
  with_each_kind([](pthread_mutex_t* mutex, clockid_t clock, bool clocklock) {
    OK(pthread_mutex_lock(mutex));
    volatile bool released = false;
    check::Worker waiter{[&](check::Worker& self) {
      const timespec late = check::after_ms(clock, 60'000);
      self.about_to_block();
      OK(lock_until(mutex, clock, clocklock, late));
      CHECK(released);
      CHECK(!check::is_free(mutex));
      OK(pthread_mutex_unlock(mutex));
    }};
    waiter.wait_until_blocked();
    released = true;
    OK(pthread_mutex_unlock(mutex));
    waiter.join();
  });
};

// Waiters that give up leave the queue intact for those that do not.
CASE("mixed with locks") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  volatile long counter = 0;
  std::atomic<long> gave_up{0};
  const long entered = check::count_in_parallel(4, 200, [&](int i, check::Random& random) {
    if (i % 2 == 0) {
      OK(pthread_mutex_lock(&mutex));
    } else {
      const timespec soon =
          check::to_timespec(check::nanoseconds(CLOCK_REALTIME) + random.below(100'000));
      const int result = pthread_mutex_timedlock(&mutex, &soon);
      if (result != 0) {
        CHECK_RC(ETIMEDOUT, result);
        ++gave_up;
        return false;
      }
    }
    const long before = counter;
    if (random.below(16) == 0) check::sleep_us(50);
    counter = before + 1;
    OK(pthread_mutex_unlock(&mutex));
    return true;
  });
  CHECK_EQ(entered, counter);
  CHECK(check::is_free(&mutex));
  return "entered " + std::to_string(entered) + " gave up " + std::to_string(gave_up.load());
};

std::string is_admitted_beside_others() {
  std::string all;
  for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE}) {
    check::Mutex mutex{type};
    all += (all.empty() ? "" : ", ") +
           check::is_admitted_beside_others(
               [&] { return pthread_mutex_lock(mutex); },
               [&](const timespec& late) { return pthread_mutex_timedlock(mutex, &late); },
               [&] { return pthread_mutex_unlock(mutex); });
  }
  return all;
}

CASE("is admitted beside others") { return is_admitted_beside_others(); };

}  // namespace
