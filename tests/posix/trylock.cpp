// pthread_mutex_trylock: refuses at once while the mutex is held, takes it whenever it is free,
// and does not change the queue of waiters.
#include "../support/check.hpp"

namespace {

// The holder releases only after the other thread has returned from all its attempts, so an
// attempt that waits for the holder hangs the test.
CASE("refuses while held") {
  for (const int type : check::all_types) {
    check::Mutex mutex{type};
    OK(pthread_mutex_lock(mutex));
    check::Worker([&](check::Worker&) {
      for (int i = 0; i < 1'000; ++i) CHECK_RC(EBUSY, pthread_mutex_trylock(mutex));
    }).join();
    OK(pthread_mutex_unlock(mutex));
    OK(pthread_mutex_trylock(mutex));
    CHECK(!check::is_free(mutex));
    OK(pthread_mutex_unlock(mutex));
    CHECK(check::is_free(mutex));
  }
};

// Two threads wait in the queue; the holder and a third thread try repeatedly; then both waiters
// acquire exactly once and the mutex is free.
CASE("leaves the queue unchanged") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (int round = 0; round < 5; ++round) {
    OK(pthread_mutex_lock(&mutex));
    check::Waiter first{&mutex};
    check::Waiter second{&mutex};
    check::Worker([&](check::Worker&) {
      for (int i = 0; i < 500; ++i) CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
    }).join();
    for (int i = 0; i < 500; ++i) CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
    CHECK(!first.is_admitted() && !second.is_admitted());
    OK(pthread_mutex_unlock(&mutex));
    first.join();
    second.join();
    CHECK(check::is_free(&mutex));
  }
};

// Releases after a trylock hand over to waiters that queued meanwhile.
CASE("hands over like a lock") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (int round = 0; round < 20; ++round) {
    OK(pthread_mutex_trylock(&mutex));
    check::Waiter waiter{&mutex};
    CHECK(!waiter.is_admitted());
    OK(pthread_mutex_unlock(&mutex));
    waiter.join();
  }
};

CASE("succeeds after every kind of release") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const timespec soon = check::after_ms(CLOCK_REALTIME, 10'000);
  for (int i = 0; i < 2'000; ++i) {
    switch (i % 4) {
      case 0:
        OK(pthread_mutex_lock(&mutex));
        break;
      case 1:
        OK(pthread_mutex_trylock(&mutex));
        break;
      case 2:
        OK(pthread_mutex_timedlock(&mutex, &soon));
        break;
      default:
        OK(pthread_mutex_trylock(&mutex));
        CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
        break;
    }
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_trylock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
  }
};

std::string stress(int lockers, int trylockers) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  volatile long counter = 0;
  std::atomic<long> locked{0};
  std::atomic<long> tried{0};
  std::atomic<long> refused{0};
  const check::Budget budget{150};
  check::in_parallel(lockers + trylockers, [&](int i) {
    check::Random random{static_cast<std::uint64_t>(i) + 7};
    long sections = 0;
    long refusals = 0;
    do {
      if (i < lockers) {
        OK(pthread_mutex_lock(&mutex));
      } else {
        const int result = pthread_mutex_trylock(&mutex);
        if (result != 0) {
          CHECK_RC(EBUSY, result);
          ++refusals;
          sched_yield();
          continue;
        }
      }
      const long before = counter;
      if (random.below(8) == 0) sched_yield();
      counter = before + 1;
      OK(pthread_mutex_unlock(&mutex));
      ++sections;
    } while (!budget.spent());
    (i < lockers ? locked : tried) += sections;
    refused += refusals;
  });
  CHECK_EQ(locked.load() + tried.load(), counter);
  CHECK(check::is_free(&mutex));
  return std::to_string(locked.load()) + " locks " + std::to_string(tried.load()) + " trylocks " +
         std::to_string(refused.load()) + " refused";
}

CASE("trylock against trylock") { return stress(0, 4); };
CASE("lock against trylock") { return stress(2, 2); };

}  // namespace
