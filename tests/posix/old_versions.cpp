// A program as it was linked long ago: every name bound to its oldest symbol version. It must have
// the same exclusion and the same condition variables as a program linked today.
#include "../support/check.hpp"

#define OLD(result, name, version, ...)      \
  extern "C" result old_##name(__VA_ARGS__); \
  asm(".symver old_" #name "," #name "@" version)

OLD(int, pthread_mutex_lock, "GLIBC_2.2.5", pthread_mutex_t*);
OLD(int, pthread_mutex_trylock, "GLIBC_2.2.5", pthread_mutex_t*);
OLD(int, pthread_mutex_unlock, "GLIBC_2.2.5", pthread_mutex_t*);
OLD(int, __pthread_mutex_trylock, "GLIBC_2.2.5", pthread_mutex_t*);
OLD(int, pthread_cond_init, "GLIBC_2.2.5", pthread_cond_t*, const pthread_condattr_t*);
OLD(int, pthread_cond_destroy, "GLIBC_2.2.5", pthread_cond_t*);
OLD(int, pthread_cond_wait, "GLIBC_2.2.5", pthread_cond_t*, pthread_mutex_t*);
OLD(int, pthread_cond_timedwait, "GLIBC_2.2.5", pthread_cond_t*, pthread_mutex_t*, const timespec*);
OLD(int, pthread_cond_clockwait, "GLIBC_2.30", pthread_cond_t*, pthread_mutex_t*, clockid_t,
    const timespec*);
OLD(int, pthread_cond_signal, "GLIBC_2.2.5", pthread_cond_t*);
OLD(int, pthread_cond_broadcast, "GLIBC_2.2.5", pthread_cond_t*);

namespace {

// Old and new names on one mutex: both must go to the same lock.
CASE("old and new together") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  OK(pthread_mutex_lock(&mutex));
  CHECK_RC(EBUSY, old_pthread_mutex_trylock(&mutex));
  CHECK_RC(EBUSY, old___pthread_mutex_trylock(&mutex));
  OK(old_pthread_mutex_unlock(&mutex));
  OK(old_pthread_mutex_trylock(&mutex));
  CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
  OK(pthread_mutex_unlock(&mutex));
};

// `clockwait` is newer than the oldest condition variables and does not mix with them.
void condition_variable(bool clockwait) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  if (!clockwait) OK(old_pthread_cond_init(&cond, nullptr));
  int turn = 0;
  check::in_parallel(2, [&](int i) {
    OK(old_pthread_mutex_lock(&mutex));
    for (int round = 0; round < 500; ++round) {
      while (turn % 2 != i) {
        const timespec late = check::after_ms(CLOCK_REALTIME, 600'000);
        if (clockwait)
          OK(old_pthread_cond_clockwait(&cond, &mutex, CLOCK_REALTIME, &late));
        else if (round % 2 == 0)
          OK(old_pthread_cond_wait(&cond, &mutex));
        else
          OK(old_pthread_cond_timedwait(&cond, &mutex, &late));
      }
      ++turn;
      if (clockwait)
        OK(pthread_cond_signal(&cond));
      else
        OK(round % 3 == 0 ? old_pthread_cond_broadcast(&cond) : old_pthread_cond_signal(&cond));
    }
    OK(old_pthread_mutex_unlock(&mutex));
  });
  CHECK_EQ(1'000, turn);
  if (!clockwait) OK(old_pthread_cond_destroy(&cond));
}

CASE("condition variable") { condition_variable(false); };
CASE("clockwait") { condition_variable(true); };

}  // namespace
