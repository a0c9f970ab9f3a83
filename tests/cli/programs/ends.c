/* ends STATUS: takes a mutex, then ends with that status, or by that signal if negative. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int main(int count, char** words) {
  int status = count > 1 ? atoi(words[1]) : 0;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  if (status < 0) raise(-status);
  return status;
}
