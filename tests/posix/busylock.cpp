// lockwright_mutex_busylock(): locks as pthread_mutex_lock() does, with the same results, and
// neither sleeps nor lets another thread run. Without a library it is the header's loop.
#include "lockwright/pthread.h"

#include "../support/check.hpp"

namespace {

// Returns how often the calling thread has slept so far.
long sleeps() {
  std::FILE* file = std::fopen("/proc/thread-self/status", "re");
  CHECK(file != nullptr);
  char line[256];
  long count = -1;
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1) break;
  std::fclose(file);
  CHECK(count >= 0);
  return count;
}

CASE("exclusion") {
  for (const int type : check::all_types) {
    check::Mutex mutex{type};
    volatile long counter = 0;
    const long expected = check::count_in_parallel(3, 20, [&](int i, check::Random&) {
      if (i == 0) {
        OK(pthread_mutex_lock(mutex));
      } else {
        OK(lockwright_mutex_busylock(mutex));
      }
      counter = counter + 1;
      OK(pthread_mutex_unlock(mutex));
      return true;
    });
    CHECK_EQ(expected, counter);
  }
};

// The mutex is held for longer than any lock polls before it parks.
CASE("busy-waits") {
  for (const int type : check::all_types) {
    check::Mutex mutex{type};
    OK(pthread_mutex_lock(mutex));
    check::Worker waiter{[&](check::Worker& self) {
      const long before = sleeps();
      self.about_to_block();
      OK(lockwright_mutex_busylock(mutex));
      const long after = sleeps();
      OK(pthread_mutex_unlock(mutex));
      CHECK_EQ(before, after);
    }};
    waiter.wait_until_blocked();
    check::sleep_ms(5);
    OK(pthread_mutex_unlock(mutex));
    waiter.join();
  }
};

CASE("results") {
  pthread_mutex_t mutex;
  check::init_mutex(&mutex, PTHREAD_MUTEX_ERRORCHECK);
  OK(lockwright_mutex_busylock(&mutex));
  CHECK_RC(EDEADLK, lockwright_mutex_busylock(&mutex));
  check::Worker([&](check::Worker&) { CHECK_RC(EPERM, pthread_mutex_unlock(&mutex)); }).join();
  OK(pthread_mutex_unlock(&mutex));
  CHECK_RC(EPERM, pthread_mutex_unlock(&mutex));
  OK(pthread_mutex_destroy(&mutex));

  check::init_mutex(&mutex, PTHREAD_MUTEX_RECURSIVE);
  for (int i = 0; i < 5; ++i) OK(lockwright_mutex_busylock(&mutex));
  for (int i = 0; i < 5; ++i) {
    CHECK(!check::is_free(&mutex));
    OK(pthread_mutex_unlock(&mutex));
  }
  CHECK(check::is_free(&mutex));
  OK(pthread_mutex_destroy(&mutex));
};

// A condition variable can wait with a mutex that busylock() has acquired.
CASE("waits on a condition") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  check::take_turns(&mutex, &cond, 200, lockwright_mutex_busylock);
};

// A lock with FIFO order admits threads that poll in the order of arrival too.
CASE("keeps FIFO order") {
  if (std::getenv("LOCKWRIGHT_TEST_FIFO") == nullptr) return;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  OK(pthread_mutex_lock(&mutex));
  std::vector<int> order;
  std::vector<std::unique_ptr<check::Worker>> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.push_back(std::make_unique<check::Worker>([&, i](check::Worker& self) {
      self.about_to_block();
      OK(i % 2 == 0 ? pthread_mutex_lock(&mutex) : lockwright_mutex_busylock(&mutex));
      order.push_back(i);
      OK(pthread_mutex_unlock(&mutex));
    }));
    waiters.back()->wait_until_blocked();
  }
  OK(pthread_mutex_unlock(&mutex));
  for (auto& waiter : waiters) waiter->join();
  for (int i = 0; i < 4; ++i) CHECK_EQ(i, order[static_cast<std::size_t>(i)]);
};

}  // namespace
