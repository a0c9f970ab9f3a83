// The kinds of mutex that stay with the C library and must work as before: shared between
// processes, robust, with a priority protocol.
#include "lockwright/pthread.h"

#include "../support/children.hpp"

#include <sys/mman.h>

namespace {

struct Region {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  volatile long counter;
  volatile int stage;
};

Region* shared_region() {
  void* memory =
      mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  return static_cast<Region*>(memory);
}

void make_robust(pthread_mutexattr_t* attributes) {
  OK(pthread_mutexattr_setrobust(attributes, PTHREAD_MUTEX_ROBUST));
}

void init_shared(pthread_mutex_t* mutex, int type, bool robust) {
  check::init_mutex(mutex, type, [robust](pthread_mutexattr_t* attributes) {
    OK(pthread_mutexattr_setpshared(attributes, PTHREAD_PROCESS_SHARED));
    if (robust) make_robust(attributes);
  });
}

CASE("shared between processes") {
  for (const int type : check::all_types) {
    Region* region = shared_region();
    init_shared(&region->mutex, type, false);
    constexpr int each = 5'000;
    auto count = [&] {
      for (int i = 0; i < each; ++i) {
        if (i % 7 != 0 || pthread_mutex_trylock(&region->mutex) != 0)
          OK(pthread_mutex_lock(&region->mutex));
        region->counter = region->counter + 1;
        OK(pthread_mutex_unlock(&region->mutex));
      }
    };
    const pid_t first = check::start_child(count);
    const pid_t second = check::start_child(count);
    count();
    check::await_child(first);
    check::await_child(second);
    CHECK_EQ(3 * each, region->counter);
    OK(pthread_mutex_destroy(&region->mutex));
    CHECK(munmap(region, sizeof *region) == 0);
  }
};

CASE("condition variable between processes") {
  Region* region = shared_region();
  init_shared(&region->mutex, PTHREAD_MUTEX_NORMAL, false);
  pthread_condattr_t attributes;
  OK(pthread_condattr_init(&attributes));
  OK(pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
  OK(pthread_cond_init(&region->cond, &attributes));
  constexpr int rounds = 2'000;
  auto alternate = [&](int parity) {
    OK(pthread_mutex_lock(&region->mutex));
    for (int i = 0; i < rounds; ++i) {
      while (region->stage % 2 != parity) OK(pthread_cond_wait(&region->cond, &region->mutex));
      region->stage = region->stage + 1;
      OK(i % 2 == 0 ? pthread_cond_signal(&region->cond) : pthread_cond_broadcast(&region->cond));
    }
    timespec soon = check::after_ms(CLOCK_REALTIME, 2);
    const int result = pthread_cond_timedwait(&region->cond, &region->mutex, &soon);
    CHECK(result == ETIMEDOUT || result == 0);
    OK(pthread_mutex_unlock(&region->mutex));
  };
  const pid_t other = check::start_child([&] { alternate(1); });
  alternate(0);
  check::await_child(other);
  CHECK_EQ(2 * rounds, region->stage);
  OK(pthread_cond_destroy(&region->cond));
};

CASE("robust between processes") {
  Region* region = shared_region();
  init_shared(&region->mutex, PTHREAD_MUTEX_NORMAL, true);
  check::in_child([&] { OK(pthread_mutex_lock(&region->mutex)); });  // dies holding it
  CHECK_RC(EOWNERDEAD, pthread_mutex_trylock(&region->mutex));
  OK(pthread_mutex_consistent(&region->mutex));
  OK(pthread_mutex_unlock(&region->mutex));
  OK(pthread_mutex_lock(&region->mutex));
  OK(pthread_mutex_unlock(&region->mutex));
  check::in_child([&] { OK(pthread_mutex_lock(&region->mutex)); });
  CHECK_RC(EOWNERDEAD, pthread_mutex_lock(&region->mutex));
  OK(pthread_mutex_unlock(&region->mutex));  // without making it consistent
  CHECK_RC(ENOTRECOVERABLE, pthread_mutex_lock(&region->mutex));
};

// The same by lockwright_mutex_busylock().
CASE("robust busylock") {
  check::Mutex mutex{PTHREAD_MUTEX_ERRORCHECK, make_robust};
  check::Worker([&](check::Worker&) { OK(lockwright_mutex_busylock(mutex)); }).join();
  CHECK_RC(EOWNERDEAD, lockwright_mutex_busylock(mutex));
  CHECK_RC(EDEADLK, lockwright_mutex_busylock(mutex));
  OK(pthread_mutex_unlock(mutex));
  CHECK_RC(ENOTRECOVERABLE, lockwright_mutex_busylock(mutex));
};

// A condition variable that is not shared, used with a robust mutex that stays with the C library:
// the wait must report the owner's death.
CASE("waiting with a robust mutex") {
  check::Mutex mutex{PTHREAD_MUTEX_DEFAULT, make_robust};
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  bool waiting = false;
  bool go = false;
  check::Worker waiter{[&](check::Worker&) {
    OK(pthread_mutex_lock(mutex));
    waiting = true;
    while (!go) {
      const int result = pthread_cond_wait(&cond, mutex);
      CHECK(result == 0 || result == EOWNERDEAD);
      if (result == EOWNERDEAD) OK(pthread_mutex_consistent(mutex));
    }
    OK(pthread_mutex_unlock(mutex));
  }};
  check::wait_until_under(mutex, [&] { return waiting; });
  check::Worker([&](check::Worker&) {
    OK(pthread_mutex_lock(mutex));
    go = true;
    OK(pthread_cond_signal(&cond));
  }).join();  // ends without unlocking
  waiter.join();
};

CASE("priority inheritance") {
  for (const int type : check::all_types) {
    check::Mutex mutex{type, [](pthread_mutexattr_t* attributes) {
                         OK(pthread_mutexattr_setprotocol(attributes, PTHREAD_PRIO_INHERIT));
                       }};
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    check::count_under(mutex, 3, 300);
    OK(pthread_mutex_lock(mutex));
    CHECK(!check::is_free(mutex));
    timespec soon = check::after_ms(CLOCK_REALTIME, 2);
    CHECK_RC(ETIMEDOUT, pthread_cond_timedwait(&cond, mutex, &soon));
    CHECK(!check::is_free(mutex));
    OK(pthread_mutex_unlock(mutex));
    OK(pthread_cond_destroy(&cond));
  }
};

}  // namespace
