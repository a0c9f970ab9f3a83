// A library that locks in its constructor, which the linker flag "initfirst" makes the first to
// run, and in its destructor, which is one of the last.
#include "first_library.hpp"

#include "../support/check.hpp"

namespace {

pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_mutex_t held_since_the_constructor = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
int constructed = 0;
pthread_mutex_t taken_for_fork = PTHREAD_MUTEX_INITIALIZER;

void before_fork() {
  if (during_fork == nullptr) return;
  OK(pthread_mutex_lock(&taken_for_fork));
  during_fork(&taken_for_fork);
}

void after_fork() {
  if (during_fork != nullptr) OK(pthread_mutex_unlock(&taken_for_fork));
}

void in_child() {
  if (during_fork == nullptr) return;
  after_fork();
  OK(pthread_mutex_trylock(&taken_for_fork));
  OK(pthread_mutex_unlock(&taken_for_fork));
}

}  // namespace

void (*during_fork)(pthread_mutex_t*) = nullptr;

void use_everything(bool with_threads) {
  OK(pthread_mutex_lock(&normal));
  CHECK_RC(EBUSY, pthread_mutex_trylock(&normal));
  OK(pthread_mutex_lock(&recursive));
  OK(pthread_mutex_lock(&recursive));
  OK(pthread_mutex_unlock(&normal));
  OK(pthread_mutex_unlock(&recursive));
  OK(pthread_mutex_unlock(&recursive));
  check::Mutex checked{PTHREAD_MUTEX_ERRORCHECK};
  OK(pthread_mutex_lock(checked));
  CHECK_RC(EDEADLK, pthread_mutex_lock(checked));
  const timespec past{1, 0};
  CHECK_RC(ETIMEDOUT, pthread_cond_timedwait(&cond, checked, &past));
  OK(pthread_cond_signal(&cond));
  OK(pthread_mutex_unlock(checked));
  if (with_threads) check::take_turns(&normal, &cond, 50);
}

int times_constructed() { return constructed; }

void check_held_since_the_constructor() {
  CHECK_RC(EBUSY, pthread_mutex_trylock(&held_since_the_constructor));
  OK(pthread_mutex_unlock(&held_since_the_constructor));
  OK(pthread_mutex_trylock(&held_since_the_constructor));
}

[[gnu::constructor]] static void first() {
  OK(pthread_atfork(before_fork, after_fork, in_child));
  use_everything(true);
  OK(pthread_mutex_lock(&held_since_the_constructor));
  ++constructed;
}

[[gnu::destructor]] static void last() {
  use_everything(false);
  OK(pthread_mutex_unlock(&held_since_the_constructor));
}
