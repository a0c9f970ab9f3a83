/* Makes a known number of each event that --stats counts:
   3 mutexes, 115 acquisitions, 2 of them contended, 2 condition variable waits, 4 failed trylocks,
   and 5 acquisitions of a process-shared mutex. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t c = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static atomic_int arriving; /* number of the thread that is about to wait */
static int flag;

static void* contender(void* unused) {
  arriving = gettid();
  pthread_mutex_lock(&a); /* held by main */
  pthread_mutex_unlock(&a);
  return unused;
}

static void* setter(void* unused) {
  arriving = gettid();
  pthread_mutex_lock(&c); /* held by main until it waits */
  flag = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&c);
  return unused;
}

/* Starts a thread, and returns when it sleeps or has polled for some milliseconds. */
static pthread_t start(void* (*body)(void*)) {
  pthread_t thread;
  clockid_t clock;
  struct timespec used = {0, 0};
  char state = 0;
  arriving = 0;
  pthread_create(&thread, NULL, body, NULL);
  pthread_getcpuclockid(thread, &clock);
  while (!arriving) usleep(1000);
  while (state != 'S' && used.tv_sec == 0 && used.tv_nsec < 20000000) {
    char line[256] = "";
    usleep(1000);
    snprintf(line, sizeof line, "/proc/self/task/%d/stat", arriving);
    FILE* file = fopen(line, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL) return thread;
    fclose(file);
    state = strrchr(line, ')')[2];
    clock_gettime(clock, &used);
  }
  return thread;
}

int main(void) {
  pthread_t thread;
  for (int i = 0; i < 100; i++) { /* 100 acquisitions of a */
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
  }
  for (int i = 0; i < 10; i++) { /* 10 of b, by trylock */
    if (pthread_mutex_trylock(&b) != 0) return 1;
    pthread_mutex_unlock(&b);
  }
  pthread_mutex_lock(&b); /* 1 of b */
  for (int i = 0; i < 4; i++) {
    if (pthread_mutex_trylock(&b) != EBUSY) return 2;
  }
  pthread_mutex_unlock(&b);

  pthread_mutex_lock(&a); /* 2 of a, the second contended */
  thread = start(contender);
  pthread_mutex_unlock(&a);
  pthread_join(thread, NULL);

  /* 2 of c, the setter's contended: it acquires only once the wait has released it. */
  struct timespec past = {0, 0};
  pthread_mutex_lock(&c);
  if (pthread_cond_timedwait(&condition, &c, &past) != ETIMEDOUT) return 3;
  thread = start(setter);
  while (!flag) pthread_cond_wait(&condition, &c);
  pthread_mutex_unlock(&c);
  pthread_join(thread, NULL);

  pthread_mutexattr_t attributes;
  pthread_mutex_t shared;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&shared, &attributes);
  for (int i = 0; i < 5; i++) {
    pthread_mutex_lock(&shared);
    pthread_mutex_unlock(&shared);
  }
  return 0;
}
