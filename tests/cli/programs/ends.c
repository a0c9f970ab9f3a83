/* ends HOW: takes a mutex, then ends with that exit status, or by that signal if negative. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int main(int count, char** words) {
  int how = count > 1 ? atoi(words[1]) : 0;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  if (how < 0) raise(-how);
  return how;
}
