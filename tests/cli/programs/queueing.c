/* queueing TURNS: two threads take one mutex TURNS times each, and hold it for a millisecond. Prints
   "turns" on standard output and "ends" on standard error, and ends with status 3. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t queued_for = PTHREAD_MUTEX_INITIALIZER;
static int turns;

static void* queue(void* unused) {
  for (int i = 0; i < turns; i++) {
    pthread_mutex_lock(&queued_for);
    usleep(1000);
    pthread_mutex_unlock(&queued_for);
    usleep(100);
  }
  return unused;
}

int main(int count, char** words) {
  pthread_t other;
  turns = count > 1 ? atoi(words[1]) : 1;
  puts("turns");
  fflush(stdout);
  pthread_create(&other, NULL, queue, NULL);
  queue(NULL);
  pthread_join(other, NULL);
  fputs("ends\n", stderr);
  return 3;
}
