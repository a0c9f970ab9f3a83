/* stopped: another process stops it for a tenth of a second, and continues it, while a thread waits
   for a mutex that it holds; then it prints "ok". */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* take(void* none) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return none;
}

int main(void) {
  const pid_t self = getpid();
  pthread_t waiter;
  if (fork() == 0) {
    usleep(30000);
    kill(self, SIGSTOP);
    usleep(100000);
    kill(self, SIGCONT);
    _exit(0);
  }
  pthread_mutex_lock(&mutex);
  pthread_create(&waiter, NULL, take, NULL);
  usleep(60000);
  pthread_mutex_unlock(&mutex);
  pthread_join(waiter, NULL);
  wait(NULL);
  puts("ok");
  return 0;
}
