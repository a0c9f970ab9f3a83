/* contended [user|fork|sites]: makes contended acquisitions, prints "ready PID CHILD", then ends when its
   input ends. `times_out` contends five times, `waits` and `waits_in_c11` once each. user: changes its user first; fork: a child, else the same PID, does the same; sites: 600
   further call sites contend once each. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define TEN(call) call call call call call call call call call call

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static mtx_t c11_mutex;
static volatile int about_to_wait;
static const char* mode = "";

static const struct timespec past = {1, 0};

__attribute__((noinline)) void times_out(void) {
  for (int i = 0; i < 5; i++) pthread_mutex_timedlock(&mutex, &past);
}

__attribute__((noinline)) void waits(void) {
  about_to_wait = 1;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) void waits_in_c11(void) {
  about_to_wait = 2;
  mtx_lock(&c11_mutex);
  mtx_unlock(&c11_mutex);
}

__attribute__((noinline)) void contends_at_many_sites(void) {
#define CALL pthread_mutex_timedlock(&mutex, &past);
  TEN(TEN(CALL)) TEN(TEN(CALL)) TEN(TEN(CALL)) TEN(TEN(CALL)) TEN(TEN(CALL)) TEN(TEN(CALL))
}

static void* contend(void* unused) {
  times_out();
  if (strcmp(mode, "sites") == 0) contends_at_many_sites();
  waits();
  waits_in_c11();
  return unused;
}

static void hold_until(int phase) {
  while (about_to_wait < phase) usleep(100);
  usleep(150000);
}

static void run(void) {
  pthread_t thread;
  about_to_wait = 0;
  pthread_mutex_lock(&mutex);
  mtx_lock(&c11_mutex);
  pthread_create(&thread, NULL, contend, NULL);
  hold_until(1);
  pthread_mutex_unlock(&mutex);
  hold_until(2);
  mtx_unlock(&c11_mutex);
  pthread_join(thread, NULL);
}

int main(int count, char** arguments) {
  char byte;
  if (count > 1) mode = arguments[1];
  if (strcmp(mode, "user") == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 1;
  mtx_init(&c11_mutex, mtx_plain);
  run();
  const int parent = getpid();
  if (strcmp(mode, "fork") == 0) {
    const int child = fork();
    if (child != 0) {
      while (read(0, &byte, 1) > 0) {
      }
      return 0;
    }
    run();
  }
  printf("ready %d %d\n", parent, getpid());
  fflush(stdout);
  while (read(0, &byte, 1) > 0) {
  }
  return 0;
}
