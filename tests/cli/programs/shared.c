/* Takes a process-shared mutex only. */
#include <pthread.h>

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutex_t shared;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&shared, &attributes);
  pthread_mutex_lock(&shared);
  pthread_mutex_unlock(&shared);
  return 0;
}
