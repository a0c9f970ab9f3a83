/* Takes a reader-writer lock, and no mutex: reads three times, writes twice. */
#define _GNU_SOURCE
#include <pthread.h>

int main(void) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int i = 0; i < 5; ++i) {
    if (i < 3)
      pthread_rwlock_rdlock(&lock);
    else
      pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
  }
  return 0;
}
