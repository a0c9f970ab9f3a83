// Threads pass numbers through a queue that has room for one.
//
//   THREADS TURNS   each of THREADS takes numbers until each has taken TURNS. Prints how many were
//                   taken, and how often a thread of the process slept meanwhile.
//
// Checks that each number is taken once and in order.
#include "../support/check.hpp"

#include <sys/resource.h>

namespace {

struct Queue {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t room = PTHREAD_COND_INITIALIZER;
  pthread_cond_t item = PTHREAD_COND_INITIALIZER;
  bool is_full = false;
  bool over = false;
  long number = 0;
  long taken = 0;
  int satisfied = 0;
};

long sleeps() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

void take(Queue& queue, int turns) {
  for (int count = 0;;) {
    OK(pthread_mutex_lock(&queue.mutex));
    while (!queue.is_full && !queue.over) OK(pthread_cond_wait(&queue.item, &queue.mutex));
    if (queue.over) break;
    CHECK_EQ(queue.taken, queue.number);
    ++queue.taken;
    queue.is_full = false;
    if (++count == turns) ++queue.satisfied;
    OK(pthread_cond_signal(&queue.room));
    OK(pthread_mutex_unlock(&queue.mutex));
  }
  OK(pthread_mutex_unlock(&queue.mutex));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int threads = std::atoi(argv[1]);
  const int turns = std::atoi(argv[2]);
  static Queue queue;
  std::vector<std::unique_ptr<check::Worker>> takers;
  const long before = sleeps();
  for (int i = 0; i < threads; ++i) {
    takers.push_back(std::make_unique<check::Worker>([&](auto&) { take(queue, turns); }));
  }
  OK(pthread_mutex_lock(&queue.mutex));
  for (long number = 0; queue.satisfied != threads; ++number) {
    while (queue.is_full) OK(pthread_cond_wait(&queue.room, &queue.mutex));
    queue.number = number;
    queue.is_full = true;
    OK(pthread_cond_signal(&queue.item));
    OK(pthread_mutex_unlock(&queue.mutex));
    OK(pthread_mutex_lock(&queue.mutex));
  }
  queue.over = true;
  OK(pthread_cond_broadcast(&queue.item));
  std::printf("%ld %ld\n", queue.taken, sleeps() - before);
  OK(pthread_mutex_unlock(&queue.mutex));
  for (auto& each : takers) each->join();
  return 0;
}
