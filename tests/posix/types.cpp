// The guarantees of the mutex types that the conformance program has no probes for: depth of
// recursion, recursion beside waiters, release of a normal mutex by another thread.
#include "../support/check.hpp"

namespace {

std::string recursive() {
  pthread_mutex_t mutex;
  check::init_mutex(&mutex, PTHREAD_MUTEX_RECURSIVE);
  constexpr int depth = 1'000;
  for (int i = 0; i < depth; ++i)
    OK(i % 2 == 0 ? pthread_mutex_lock(&mutex) : pthread_mutex_trylock(&mutex));
  check::Worker([&](check::Worker&) {
    CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
    CHECK_RC(EPERM, pthread_mutex_unlock(&mutex));
  }).join();
  for (int i = 0; i < depth; ++i) {
    CHECK(i % 100 != 0 || !check::is_free(&mutex));
    OK(pthread_mutex_unlock(&mutex));
  }
  CHECK(check::is_free(&mutex));
  CHECK_RC(EPERM, pthread_mutex_unlock(&mutex));
  OK(pthread_mutex_destroy(&mutex));
  return "";
}

// Locks a mutex up to its limit or three million times: a refused call changes nothing.
std::string deep_recursion() {
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
  return "";
}

// Recursion while others queue: the inner calls must not queue behind them.
std::string recursive_with_waiters() {
  pthread_mutex_t mutex;
  check::init_mutex(&mutex, PTHREAD_MUTEX_RECURSIVE);
  volatile bool released = false;
  OK(pthread_mutex_lock(&mutex));
  check::Worker waiter{[&](check::Worker& self) {
    self.about_to_block();
    OK(pthread_mutex_lock(&mutex));
    CHECK(released);
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
  }};
  waiter.wait_until_blocked();
  for (int i = 0; i < 3; ++i) {
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_trylock(&mutex));
  }
  for (int i = 0; i < 6; ++i) OK(pthread_mutex_unlock(&mutex));
  released = true;
  OK(pthread_mutex_unlock(&mutex));
  waiter.join();
  OK(pthread_mutex_destroy(&mutex));
  return "";
}

std::string recursive_under_contention() {
  pthread_mutex_t mutex;
  check::init_mutex(&mutex, PTHREAD_MUTEX_RECURSIVE);
  volatile long counter = 0;
  const long expected = check::count_in_parallel(3, 100, [&](int, check::Random& random) {
    const int depth = 1 + static_cast<int>(random.below(4));
    for (int d = 0; d < depth; ++d) OK(pthread_mutex_lock(&mutex));
    counter = counter + 1;
    for (int d = 0; d < depth; ++d) OK(pthread_mutex_unlock(&mutex));
    return true;
  });
  CHECK_EQ(expected, counter);
  OK(pthread_mutex_destroy(&mutex));
  return "";
}

// The C library allows it for the types that do not check the owner, and programs rely on it.
std::string unlocked_by_another_thread() {
  for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ADAPTIVE_NP}) {
    pthread_mutex_t mutex;
    check::init_mutex(&mutex, type);
    for (int round = 0; round < 20; ++round) {
      OK(pthread_mutex_lock(&mutex));
      check::Worker([&](check::Worker&) { OK(pthread_mutex_unlock(&mutex)); }).join();
      CHECK(check::is_free(&mutex));
    }
    // the same with a thread waiting for it
    OK(pthread_mutex_lock(&mutex));
    check::Waiter waiter{&mutex};
    check::Worker([&](check::Worker&) { OK(pthread_mutex_unlock(&mutex)); }).join();
    waiter.join();
    OK(pthread_mutex_destroy(&mutex));
  }
  return "";
}

// None of the calls may change errno: they return their errors.
std::string errno_is_unchanged() {
  pthread_mutex_t mutex;
  check::init_mutex(&mutex, PTHREAD_MUTEX_ERRORCHECK);
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  errno = 12'345;
  OK(pthread_mutex_lock(&mutex));
  CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
  timespec soon = check::after_ms(CLOCK_REALTIME, 5);
  CHECK_RC(ETIMEDOUT, pthread_cond_timedwait(&cond, &mutex, &soon));
  OK(pthread_cond_broadcast(&cond));
  OK(pthread_mutex_unlock(&mutex));
  CHECK_RC(EPERM, pthread_mutex_unlock(&mutex));
  CHECK_EQ(12'345, errno);
  OK(pthread_mutex_lock(&mutex));
  check::Worker waiter{[&](check::Worker& self) {
    errno = 23'456;
    self.about_to_block();
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    CHECK_EQ(23'456, errno);
  }};
  waiter.wait_until_blocked();
  OK(pthread_mutex_unlock(&mutex));
  waiter.join();
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  return check::run(argc, argv,
                    {{"recursive", recursive},
                     {"deep recursion", deep_recursion},
                     {"recursive with waiters", recursive_with_waiters},
                     {"recursive under contention", recursive_under_contention},
                     {"unlocked by another thread", unlocked_by_another_thread},
                     {"errno is unchanged", errno_is_unchanged}});
}
