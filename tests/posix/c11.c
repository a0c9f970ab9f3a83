// Mutexes and condition variables of C11's <threads.h>, in C.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

#define CHECK(condition) ((condition) ? (void)0 : fail(__FILE__, __LINE__, #condition))

static void fail(const char* file, int line, const char* condition) {
  fprintf(stderr, "%s:%d: not true: %s\n", file, line, condition);
  fflush(stderr);
  _Exit(1);
}

enum { workers = 3, rounds = 2000 };

static struct timespec after_ms(long ms) {
  struct timespec when;
  CHECK(timespec_get(&when, TIME_UTC) == TIME_UTC);
  when.tv_nsec += ms * 1000000;
  when.tv_sec += when.tv_nsec / 1000000000;
  when.tv_nsec %= 1000000000;
  return when;
}

static mtx_t mutex;
static cnd_t changed;
static int counter;
static thread_local int acquisitions;

static int count(void* kind) {
  for (int i = 0; i < rounds; ++i) {
    const struct timespec late = after_ms(60000);
    switch (i % 3) {
      case 0:
        CHECK(mtx_lock(&mutex) == thrd_success);
        break;
      case 1:
        while (mtx_trylock(&mutex) != thrd_success) thrd_yield();
        break;
      default:
        if (*(const int*)kind & mtx_timed)
          CHECK(mtx_timedlock(&mutex, &late) == thrd_success);
        else
          CHECK(mtx_lock(&mutex) == thrd_success);
    }
    if (*(const int*)kind & mtx_recursive) {
      CHECK(mtx_lock(&mutex) == thrd_success);
      CHECK(mtx_unlock(&mutex) == thrd_success);
    }
    ++counter;
    ++acquisitions;
    CHECK(mtx_unlock(&mutex) == thrd_success);
  }
  CHECK(acquisitions == rounds);
  return acquisitions;
}

static void exclusion(void) {
  static const int kinds[] = {mtx_plain, mtx_timed, mtx_plain | mtx_recursive,
                              mtx_timed | mtx_recursive};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    int kind = kinds[k];
    counter = 0;
    CHECK(mtx_init(&mutex, kind) == thrd_success);
    thrd_t all[workers];
    for (int i = 0; i < workers; ++i) CHECK(thrd_create(&all[i], count, &kind) == thrd_success);
    for (int i = 0; i < workers; ++i) {
      int result = 0;
      CHECK(thrd_join(all[i], &result) == thrd_success);
      CHECK(result == rounds);
    }
    CHECK(counter == workers * rounds);
    mtx_destroy(&mutex);
  }
}

static int wait_for_turn(void* parity) {
  CHECK(mtx_lock(&mutex) == thrd_success);
  for (int i = 0; i < 200; ++i) {
    const struct timespec late = after_ms(60000);
    while (counter % 2 != *(const int*)parity)
      CHECK((i % 2 == 0 ? cnd_wait(&changed, &mutex) : cnd_timedwait(&changed, &mutex, &late)) ==
            thrd_success);
    ++counter;
    CHECK((i % 3 == 0 ? cnd_broadcast(&changed) : cnd_signal(&changed)) == thrd_success);
  }
  CHECK(mtx_unlock(&mutex) == thrd_success);
  thrd_exit(77);
}

static void alternate(void) {
  int parity[] = {0, 1};
  counter = 0;
  CHECK(mtx_init(&mutex, mtx_plain) == thrd_success);
  CHECK(cnd_init(&changed) == thrd_success);
  thrd_t all[2];
  for (int i = 0; i < 2; ++i)
    CHECK(thrd_create(&all[i], wait_for_turn, &parity[i]) == thrd_success);
  for (int i = 0; i < 2; ++i) {
    int result = 0;
    CHECK(thrd_join(all[i], &result) == thrd_success);
    CHECK(result == 77);
  }
  CHECK(counter == 400);
  CHECK(mtx_lock(&mutex) == thrd_success);
  struct timespec soon = after_ms(2);
  CHECK(cnd_timedwait(&changed, &mutex, &soon) == thrd_timedout);
  CHECK(mtx_unlock(&mutex) == thrd_success);
  cnd_destroy(&changed);
  mtx_destroy(&mutex);
}

int main(void) {
  exclusion();
  alternate();
  puts("ok: C11");
  return 0;
}
