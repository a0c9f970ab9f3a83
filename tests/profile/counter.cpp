// Two threads that do nothing but count under a mutex.
#include "../support/check.hpp"

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::uint64_t count = 0;
std::atomic<bool> running{true};

void count_up() {
  while (running) {
    pthread_mutex_lock(&mutex);
    ++count;
    pthread_mutex_unlock(&mutex);
  }
}

}  // namespace

int main() {
  std::thread first(count_up);
  std::thread second(count_up);
  usleep(300'000);
  running = false;
  first.join();
  second.join();
  return 0;
}
