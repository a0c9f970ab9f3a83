// Two threads that count under a mutex, and do nothing else.
#include "../support/check.hpp"

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::uint64_t count = 0;
std::atomic<bool> goes_on{true};

void count_up() {
  while (goes_on) {
    pthread_mutex_lock(&mutex);
    ++count;
    pthread_mutex_unlock(&mutex);
  }
}

}  // namespace

int main() {
  std::thread one(count_up);
  std::thread two(count_up);
  usleep(300'000);
  goes_on = false;
  one.join();
  two.join();
  return 0;
}
