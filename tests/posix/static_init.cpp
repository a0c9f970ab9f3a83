// Statically initialised mutexes of every type, first used by many threads at once.
#include "../support/check.hpp"

namespace {

pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

// Statically initialised mutexes differ by type as others do.
void check_type(pthread_mutex_t* mutex, int type) {
  OK(pthread_mutex_lock(mutex));
  if (type == PTHREAD_MUTEX_RECURSIVE) {
    OK(pthread_mutex_lock(mutex));
    OK(pthread_mutex_trylock(mutex));
    OK(pthread_mutex_unlock(mutex));
    OK(pthread_mutex_unlock(mutex));
    CHECK(!check::is_free(mutex));
  } else {
    CHECK_RC(EBUSY, pthread_mutex_trylock(mutex));
    if (type == PTHREAD_MUTEX_ERRORCHECK) CHECK_RC(EDEADLK, pthread_mutex_lock(mutex));
  }
  OK(pthread_mutex_unlock(mutex));
  if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK)
    CHECK_RC(EPERM, pthread_mutex_unlock(mutex));
  CHECK(check::is_free(mutex));
}

// In every round all threads together take a new mutex for the first time, some by lock and some by
// trylock or timedlock.
void raced(pthread_mutex_t* original, int type) {
  const pthread_mutex_t initial = *original;
  constexpr int threads = 3;
  constexpr int rounds = 60;
  std::vector<pthread_mutex_t> mutexes(rounds, initial);
  std::vector<long> counters(rounds);
  check::SpinBarrier barrier{threads};
  check::in_parallel(threads, [&](int i) {
    const timespec later = check::after_ms(CLOCK_REALTIME, 60'000);
    for (std::size_t round = 0; round < rounds; ++round) {
      pthread_mutex_t* mutex = &mutexes[round];
      barrier.arrive_and_wait();
      switch ((round + static_cast<std::size_t>(i)) % 3) {
        case 0:
          while (pthread_mutex_trylock(mutex) != 0) sched_yield();
          break;
        case 1:
          OK(pthread_mutex_timedlock(mutex, &later));
          break;
        default:
          OK(pthread_mutex_lock(mutex));
          break;
      }
      volatile long* counter = &counters[round];
      *counter = *counter + 1;
      OK(pthread_mutex_unlock(mutex));
    }
  });
  for (std::size_t round = 0; round < rounds; ++round) {
    CHECK_EQ(threads, counters[round]);
    check_type(&mutexes[round], type);
    OK(pthread_mutex_destroy(&mutexes[round]));
  }
  check_type(original, type);
}

// A condition variable and its mutex, both static, both first used by all threads at once.
CASE("condition variable") {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  static int arrived = 0;
  constexpr int threads = 8;
  check::in_parallel(threads, [&](int) {
    OK(pthread_mutex_lock(&mutex));
    if (++arrived == threads) OK(pthread_cond_broadcast(&cond));
    while (arrived < threads) OK(pthread_cond_wait(&cond, &mutex));
    OK(pthread_mutex_unlock(&mutex));
  });
  CHECK_EQ(threads, arrived);
};

CASE("normal") { raced(&normal, PTHREAD_MUTEX_NORMAL); };
CASE("recursive") { raced(&recursive, PTHREAD_MUTEX_RECURSIVE); };
CASE("errorcheck") { raced(&errorcheck, PTHREAD_MUTEX_ERRORCHECK); };
CASE("adaptive") { raced(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP); };

}  // namespace
