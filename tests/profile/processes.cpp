// A process that takes no mutex. Its children, one after the other, take a mutex 3, 300 and 20 times,
// and the last child is killed. With the argument "limited" there is one child, whose file sizes are
// limited.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace {

pthread_mutex_t first_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t second_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_mutex_t third_mutex = PTHREAD_MUTEX_INITIALIZER;

void take(pthread_mutex_t& mutex, int times) {
  for (int i = 0; i < times; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
}

template <class Work>
void in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

}  // namespace

int main(int count, char**) {
  pthread_mutex_t unused;
  pthread_mutex_init(&unused, nullptr);
  if (count > 1) {
    in_child([] {
      const rlimit short_files{.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
      setrlimit(RLIMIT_FSIZE, &short_files);
      take(first_mutex, 5);
    });
    return 0;
  }
  in_child([] { take(first_mutex, 3); });
  in_child([] { take(second_mutex, 300); });
  in_child([] {
    take(third_mutex, 20);
    kill(getpid(), SIGKILL);
  });
  return 0;
}
