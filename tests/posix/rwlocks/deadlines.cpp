// Waits that end by a deadline, and the state of the lock after them.
#include "../admission.hpp"
#include "common.hpp"

namespace rwlocks {

namespace {

int timed(pthread_rwlock_t* lock, bool to_write, clockid_t clock, const timespec& deadline) {
  return to_write ? pthread_rwlock_clockwrlock(lock, clock, &deadline)
                  : pthread_rwlock_clockrdlock(lock, clock, &deadline);
}

}  // namespace

CASE("deadlines") {
  const timespec past{1, 0};
  const timespec before_all{-1, 0};
  const timespec invalid{1, 1'000'000'000};
  const timespec negative{1, -1};
  for (const int kind : kinds) {
    pthread_rwlock_t lock;
    init(&lock, kind);
    for (const bool to_write : {false, true}) {
      for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
        // Free: there is no wait, but an invalid time is rejected.
        OK(timed(&lock, to_write, clock, past));
        OK(pthread_rwlock_unlock(&lock));
        CHECK_RC(EINVAL, timed(&lock, to_write, clock, invalid));
        CHECK_RC(EINVAL, timed(&lock, to_write, clock, negative));
        // Held by a writer, and for a writer also by a reader.
        for (const Holder::Mode mode : {Holder::writes, Holder::reads}) {
          if (mode == Holder::reads && !to_write) continue;
          Holder holder(&lock, mode);
          holder.wait_until_inside();
          CHECK_RC(ETIMEDOUT, timed(&lock, to_write, clock, past));
          CHECK_RC(ETIMEDOUT, timed(&lock, to_write, clock, before_all));
          CHECK_RC(EINVAL, timed(&lock, to_write, clock, invalid));
          const timespec soon = check::after_ms(clock, 5);
          CHECK_RC(ETIMEDOUT, timed(&lock, to_write, clock, soon));
          CHECK(check::nanoseconds(clock) >=
                soon.tv_sec * std::int64_t{1'000'000'000} + soon.tv_nsec);
          holder.leave();
        }
        // Released before the deadline.
        Holder holder(&lock, Holder::writes);
        holder.wait_until_inside();
        check::Worker waiter([&](check::Worker& self) {
          const timespec late = check::after_ms(clock, 600'000);
          self.about_to_block();
          OK(timed(&lock, to_write, clock, late));
          OK(pthread_rwlock_unlock(&lock));
        });
        waiter.wait_until_blocked();
        holder.leave();
        waiter.join();
        check_free(&lock);
      }
      CHECK_RC(EINVAL, timed(&lock, to_write, CLOCK_THREAD_CPUTIME_ID, past));
    }
    OK(pthread_rwlock_wrlock(&lock));
    CHECK_RC(ETIMEDOUT, in_thread([&] { return pthread_rwlock_timedrdlock(&lock, &past); }));
    CHECK_RC(ETIMEDOUT, in_thread([&] { return pthread_rwlock_timedwrlock(&lock, &past); }));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_destroy(&lock));
  }
};

// A writer that gives up admits the waiters behind it, also with readers that were
// admitted while it waited, repeatedly.
CASE("a writer gives up") {
  if (guarantee() == Guarantee::exclusive) return;
  for (const int kind : kinds) {
    pthread_rwlock_t lock;
    init(&lock, kind);
    for (int round = 0; round < 5; ++round) {
      Holder first(&lock, Holder::reads);
      first.wait_until_inside();
      check::Worker writer([&](check::Worker& self) {
        const timespec soon = check::after_ms(CLOCK_MONOTONIC, 30);
        self.about_to_block();
        CHECK_RC(ETIMEDOUT, pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &soon));
      });
      writer.wait_until_blocked();
      Holder second(&lock, Holder::reads);
      Holder third(&lock, Holder::reads);
      second.wait_until_inside();
      third.wait_until_inside();
      CHECK(first.inside());
      writer.join();
      second.leave();
      first.leave();
      third.leave();
      check_free(&lock);
    }
    OK(pthread_rwlock_destroy(&lock));
  }
};

CASE("timeout races with grant") {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  std::atomic<long> given_up{0};
  volatile long writes = 0;
  std::atomic<long> expected{0};
  const check::Budget budget{300};
  check::in_parallel(6, [&](int i) {
    check::Random random{static_cast<std::uint64_t>(i) + 5};
    do {
      const bool to_write = random.below(2) == 0;
      const timespec soon = check::to_timespec(check::nanoseconds(CLOCK_MONOTONIC) +
                                               static_cast<std::int64_t>(random.below(60'000)));
      if (timed(&lock, to_write, CLOCK_MONOTONIC, soon) != 0) {
        ++given_up;
        continue;
      }
      if (to_write) {
        writes = writes + 1;
        ++expected;
      }
      if (random.below(4) == 0) check::sleep_us(20);
      OK(pthread_rwlock_unlock(&lock));
    } while (!budget.spent() || given_up.load() == 0);
  });
  CHECK_EQ(expected.load(), writes);
  check_free(&lock);
  OK(pthread_rwlock_destroy(&lock));
  return "given up=" + std::to_string(given_up.load());
};

CASE("a writer with a deadline is admitted") {
  if (guarantee() != Guarantee::exclusive) return std::string{"(not promised)"};
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  return check::is_admitted_beside_others(
      [&] { return pthread_rwlock_wrlock(&lock); },
      [&](const timespec& late) { return pthread_rwlock_timedwrlock(&lock, &late); },
      [&] { return pthread_rwlock_unlock(&lock); });
};

// A thread with a deadline enters before those that came after it, and behind one that gave up.
CASE("a deadline keeps the place") {
  if (std::getenv("LOCKWRIGHT_TEST_QUEUES") == nullptr) return;
  for (const Holder::Mode mode : {Holder::reads_in_time, Holder::writes_in_time}) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    for (int round = 0; round < 20; ++round) {
      Holder holder(&lock, Holder::writes);
      holder.wait_until_inside();
      const timespec soon = check::after_ms(CLOCK_MONOTONIC, round % 2 == 0 ? 1 : 0);
      CHECK_RC(ETIMEDOUT, in_thread([&] {
                 return timed(&lock, mode == Holder::writes_in_time, CLOCK_MONOTONIC, soon);
               }));
      Holder waiter(&lock, mode);
      waiter.wait_until_blocked();
      Holder next(&lock, Holder::writes);
      next.wait_until_blocked();
      holder.leave();
      check::wait_until([&] { return waiter.inside() || next.inside(); });
      CHECK(waiter.inside());
      CHECK(!next.inside());
      waiter.leave();
      next.leave();
      check_free(&lock);
    }
    OK(pthread_rwlock_destroy(&lock));
  }
};

}  // namespace rwlocks
