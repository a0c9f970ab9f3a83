/* Takes each mutex `times` times, with a second argument in a child too: three variables, two that
   a function initialises on the heap, one of another function, and one that is not initialised. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

pthread_mutex_t shown = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t hidden = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t initialised;

static __attribute__((noinline)) pthread_mutex_t* make(void) {
  pthread_mutex_t* made = malloc(sizeof *made);
  pthread_mutex_init(made, NULL); /* made here */
  return made;
}

static __attribute__((noinline)) pthread_mutex_t* make_otherwise(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_t* made = malloc(sizeof *made);
  pthread_mutex_init(made, &attributes);
  pthread_mutexattr_destroy(&attributes);
  return made;
}

static __attribute__((noinline)) int take_first(pthread_mutex_t* mutex) {
  const int result = pthread_mutex_lock(mutex);
  return result != 0 ? result : pthread_mutex_unlock(mutex);
}

static int take_all(pthread_mutex_t** all, int number, int times) {
  int failures = 0;
  for (int i = 0; i < number * times; ++i) {
    failures += pthread_mutex_lock(all[i % number]) != 0;
    failures += pthread_mutex_unlock(all[i % number]) != 0;
  }
  return failures;
}

int main(int argc, char** argv) {
  pthread_mutex_init(&initialised, NULL);
  pthread_mutex_t* untouched = calloc(1, sizeof *untouched);
  pthread_mutex_t* all[] = {&shown, &hidden,          &initialised, make(),
                            make(), make_otherwise(), untouched};
  int failures = take_first(untouched);
  const int number = sizeof all / sizeof all[0];
  failures += take_all(all, number, atoi(argv[1]));
  if (argc > 2) {
    const pid_t child = fork();
    if (child == 0) {
      _exit(take_all(all, number, atoi(argv[1])) != 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    failures += status != 0;
  }
  return failures != 0;
}
