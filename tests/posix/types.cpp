// The guarantees of the mutex types that the conformance program has no probes for: depth of
// recursion, and recursion beside waiters.
#include "../support/check.hpp"

namespace {

// Locks a mutex up to its limit or three million times: a refused call changes nothing.
CASE("deep recursion") {
  pthread_mutex_t mutex;
  check::init_mutex(&mutex, PTHREAD_MUTEX_RECURSIVE);
  int depth = 0;
  int result = 0;
  while (depth < 3'000'000 && (result = pthread_mutex_lock(&mutex)) == 0) ++depth;
  CHECK(result == 0 || result == EAGAIN);
  CHECK(depth >= 2'000'000);
  if (result == EAGAIN) {
    CHECK_RC(EAGAIN, pthread_mutex_lock(&mutex));
    CHECK_RC(EAGAIN, pthread_mutex_trylock(&mutex));
  }
  CHECK_RC(EBUSY, pthread_mutex_destroy(&mutex));
  for (int i = 0; i < depth; ++i) OK(pthread_mutex_unlock(&mutex));
  CHECK(check::is_free(&mutex));
  CHECK_RC(EPERM, pthread_mutex_unlock(&mutex));
  OK(pthread_mutex_destroy(&mutex));
};

// Recursion while others queue: the inner calls must not queue behind them.
CASE("recursive with waiters") {
  check::Mutex mutex{PTHREAD_MUTEX_RECURSIVE};
  volatile bool released = false;
  OK(pthread_mutex_lock(mutex));
  check::Worker waiter{[&](check::Worker& self) {
    self.about_to_block();
    OK(pthread_mutex_lock(mutex));
    CHECK(released);
    OK(pthread_mutex_lock(mutex));
    OK(pthread_mutex_unlock(mutex));
    OK(pthread_mutex_unlock(mutex));
  }};
  waiter.wait_until_blocked();
  for (int i = 0; i < 3; ++i) {
    OK(pthread_mutex_lock(mutex));
    OK(pthread_mutex_trylock(mutex));
  }
  for (int i = 0; i < 6; ++i) OK(pthread_mutex_unlock(mutex));
  released = true;
  OK(pthread_mutex_unlock(mutex));
  waiter.join();
};

CASE("recursive under contention") {
  check::Mutex mutex{PTHREAD_MUTEX_RECURSIVE};
  volatile long counter = 0;
  const long expected = check::count_in_parallel(3, 100, [&](int, check::Random& random) {
    const int depth = 1 + static_cast<int>(random.below(4));
    for (int d = 0; d < depth; ++d) OK(pthread_mutex_lock(mutex));
    counter = counter + 1;
    for (int d = 0; d < depth; ++d) OK(pthread_mutex_unlock(mutex));
    return true;
  });
  CHECK_EQ(expected, counter);
};

// None of the calls may change errno: they return their errors.
CASE("errno is unchanged") {
  check::Mutex mutex{PTHREAD_MUTEX_ERRORCHECK};
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  errno = 12'345;
  OK(pthread_mutex_lock(mutex));
  CHECK_RC(EBUSY, pthread_mutex_trylock(mutex));
  timespec soon = check::after_ms(CLOCK_REALTIME, 5);
  CHECK_RC(ETIMEDOUT, pthread_cond_timedwait(&cond, mutex, &soon));
  OK(pthread_cond_broadcast(&cond));
  OK(pthread_mutex_unlock(mutex));
  CHECK_RC(EPERM, pthread_mutex_unlock(mutex));
  CHECK_EQ(12'345, errno);
  OK(pthread_mutex_lock(mutex));
  check::Worker waiter{[&](check::Worker& self) {
    errno = 23'456;
    self.about_to_block();
    OK(pthread_mutex_lock(mutex));
    OK(pthread_mutex_unlock(mutex));
    CHECK_EQ(23'456, errno);
  }};
  waiter.wait_until_blocked();
  OK(pthread_mutex_unlock(mutex));
  waiter.join();
};

}  // namespace
