/* Does a known number of each thing that --stats counts:
   3 mutexes, 115 acquisitions, 2 of them contended, 2 condition variable waits, 4 failed trylocks,
   and 5 acquisitions of a process-shared mutex. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t c = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static atomic_int arriving;
static int flag;

static void* contender(void* unused) {
  arriving = 1;
  pthread_mutex_lock(&a); /* held by main */
  pthread_mutex_unlock(&a);
  return unused;
}

static void* setter(void* unused) {
  pthread_mutex_lock(&c);
  flag = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&c);
  return unused;
}

int main(void) {
  pthread_t thread;
  for (int i = 0; i < 100; i++) { /* 100 acquisitions of a */
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
  }
  for (int i = 0; i < 10; i++) { /* 10 of b, by trylock */
    if (pthread_mutex_trylock(&b) != 0) return 1;
    pthread_mutex_unlock(&b);
  }
  pthread_mutex_lock(&b); /* 1 of b */
  for (int i = 0; i < 4; i++) {
    if (pthread_mutex_trylock(&b) != EBUSY) return 2;
  }
  pthread_mutex_unlock(&b);

  pthread_mutex_lock(&a); /* 2 of a, the second contended */
  pthread_create(&thread, NULL, contender, NULL);
  while (!arriving) usleep(1000);
  usleep(500000);
  pthread_mutex_unlock(&a);
  pthread_join(thread, NULL);

  /* 2 of c, the setter's contended: it can take it only once the wait has let it go. */
  struct timespec past = {0, 0};
  pthread_mutex_lock(&c);
  if (pthread_cond_timedwait(&condition, &c, &past) != ETIMEDOUT) return 3;
  pthread_create(&thread, NULL, setter, NULL);
  usleep(500000);
  while (!flag) pthread_cond_wait(&condition, &c);
  pthread_mutex_unlock(&c);
  pthread_join(thread, NULL);

  pthread_mutexattr_t attributes;
  pthread_mutex_t shared;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&shared, &attributes);
  for (int i = 0; i < 5; i++) {
    pthread_mutex_lock(&shared);
    pthread_mutex_unlock(&shared);
  }
  return 0;
}
