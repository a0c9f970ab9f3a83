/* queueing ROUNDS: two threads take a mutex ROUNDS times each, and hold it for a millisecond.
   Prints "begins" on standard output and "ends" on standard error; ends with status 3. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t queued_for = PTHREAD_MUTEX_INITIALIZER;
static int rounds;

static void* pass(void* unused) {
  for (int i = 0; i < rounds; i++) {
    pthread_mutex_lock(&queued_for);
    usleep(1000);
    pthread_mutex_unlock(&queued_for);
    usleep(100);
  }
  return unused;
}

int main(int count, char** words) {
  pthread_t other;
  rounds = count > 1 ? atoi(words[1]) : 1;
  puts("begins");
  fflush(stdout);
  pthread_create(&other, NULL, pass, NULL);
  pass(NULL);
  pthread_join(other, NULL);
  fputs("ends\n", stderr);
  return 3;
}
