/* queueing TURNS: two threads take one mutex TURNS times each, and hold it for a millisecond. Says
   "turns" on standard output and "ends" on standard error, and ends with status 3. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t the_door = PTHREAD_MUTEX_INITIALIZER;
static int turns;

static void* pass(void* unused) {
  for (int i = 0; i < turns; i++) {
    pthread_mutex_lock(&the_door);
    usleep(1000);
    pthread_mutex_unlock(&the_door);
    usleep(100);
  }
  return unused;
}

int main(int count, char** words) {
  pthread_t other;
  turns = count > 1 ? atoi(words[1]) : 1;
  puts("turns");
  fflush(stdout);
  pthread_create(&other, NULL, pass, NULL);
  pass(NULL);
  pthread_join(other, NULL);
  fputs("ends\n", stderr);
  return 3;
}
