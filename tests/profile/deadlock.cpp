// Two threads in a deadlock, and a third thread with a deadline.
#include "../support/check.hpp"

namespace {

pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> is_first_held{false};

[[gnu::noinline]] void first_then_second() {
  pthread_mutex_lock(&first);
  is_first_held = true;
  pthread_mutex_lock(&second);
  pthread_mutex_unlock(&second);
  pthread_mutex_unlock(&first);
}

[[gnu::noinline]] void second_then_first() {
  pthread_mutex_lock(&second);
  std::thread other(first_then_second);
  while (!is_first_held) {
    sched_yield();
  }
  alarm(1);
  pthread_mutex_lock(&first);
  pthread_mutex_unlock(&first);
  pthread_mutex_unlock(&second);
  other.join();
}

[[gnu::noinline]] void give_up() {
  while (!is_first_held) {
    sched_yield();
  }
  timespec deadline{};
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_nsec += 400'000'000;
  deadline.tv_sec += deadline.tv_nsec / 1'000'000'000;
  deadline.tv_nsec %= 1'000'000'000;
  CHECK(pthread_mutex_timedlock(&first, &deadline) == ETIMEDOUT);
}

}  // namespace

int main() {
  std::thread third(give_up);
  second_then_first();
  third.join();
  return 0;
}
