/* worker THREADS TIMES [MILLISECONDS]: each thread takes one mutex TIMES times; then sleeps.
   Prints the sum, which shows lost exclusion, and a rate for --metric. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sum, times;

static void* work(void* unused) {
  for (long i = 0; i < times; i++) {
    pthread_mutex_lock(&mutex);
    sum++;
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

int main(int count, char** words) {
  int threads = atoi(words[1]);
  times = atol(words[2]);
  pthread_t handles[64];
  for (int i = 0; i < threads; i++) pthread_create(&handles[i], NULL, work, NULL);
  for (int i = 0; i < threads; i++) pthread_join(handles[i], NULL);
  if (count > 3) usleep(1000 * atoi(words[3]));
  printf("threads: %d\nsum: %ld\nearly rate: 1\nrate: %ld.5\n", threads, sum, sum);
  return 0;
}
