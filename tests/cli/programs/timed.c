/* timed until|naps|later: two threads take a mutex and nap. until: for a second, as a load generator;
   naps: 300 times each, which takes about as long; later: after a second of sleep, as often. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char* mode = "";
static double end;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void nap(long milliseconds) {
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static void* work(void* unused) {
  for (int i = 0; strcmp(mode, "until") == 0 ? now() < end : i < 300; i++) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    if (strcmp(mode, "later") != 0) nap(3);
  }
  return unused;
}

int main(int count, char** words) {
  if (count > 1) mode = words[1];
  if (strcmp(mode, "later") == 0) nap(1000);
  end = now() + 1;
  pthread_t other;
  pthread_create(&other, NULL, work, NULL);
  work(NULL);
  pthread_join(other, NULL);
  return 0;
}
