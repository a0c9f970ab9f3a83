/* Reads and writes each of six reader-writer locks, and prints the number of its algorithm, which is in
   the second byte of the kind word: two variables, two that a function initialises on the heap, one
   that many threads use first, and one whose first use is in a child and has a deadline. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { threads = 8 };

pthread_rwlock_t shown = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t hidden = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_rwlock_t raced = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t of_child = PTHREAD_RWLOCK_INITIALIZER;

static __attribute__((noinline)) pthread_rwlock_t* make(void) {
  pthread_rwlock_t* made = malloc(sizeof *made);
  pthread_rwlock_init(made, NULL); /* made here */
  return made;
}

static __attribute__((noinline)) int take(pthread_rwlock_t* lock) {
  return pthread_rwlock_rdlock(lock) != 0 || pthread_rwlock_unlock(lock) != 0 ||
         pthread_rwlock_wrlock(lock) != 0 || pthread_rwlock_unlock(lock) != 0;
}

static __attribute__((noinline)) int take_with_deadline(pthread_rwlock_t* lock) {
  struct timespec deadline;
  clock_gettime(CLOCK_MONOTONIC, &deadline);
  deadline.tv_sec += 60;
  return pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &deadline) != 0 ||
         pthread_rwlock_unlock(lock) != 0;
}

static pthread_barrier_t start;
static void* race(void* unused) {
  (void)unused;
  pthread_barrier_wait(&start);
  return take(&raced) ? &raced : NULL;
}

static int show(const char* name, pthread_rwlock_t* lock) {
  const int failed = take(lock);
  printf("%s %u\n", name, lock->__data.__flags >> 8 & 0xff);
  return failed;
}

int main(void) {
  int failures = 0;
  pthread_t all[threads];
  pthread_barrier_init(&start, NULL, threads);
  for (int i = 0; i < threads; ++i) {
    pthread_create(&all[i], NULL, race, NULL);
  }
  for (int i = 0; i < threads; ++i) {
    void* failed = NULL;
    pthread_join(all[i], &failed);
    failures += failed != NULL;
  }
  failures += show("shown", &shown) + show("hidden", &hidden) + show("raced", &raced);
  failures += show("first", make()) + show("second", make());
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    failures = take_with_deadline(&of_child) + show("of_child", &of_child) + show("shown", &shown);
    fflush(stdout);
    _exit(failures);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return failures + (status != 0);
}
