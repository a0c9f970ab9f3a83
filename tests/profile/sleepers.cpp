// Two threads that wait for a mutex until standard input ends, and one that waits for a futex that is
// not a mutex.
#include "../support/check.hpp"

namespace {

pthread_mutex_t wanted = PTHREAD_MUTEX_INITIALIZER;

[[gnu::noinline]] void contend() {
  pthread_mutex_lock(&wanted);
  pthread_mutex_unlock(&wanted);
}

/// A futex word without an owner after it, as in the runtimes of other languages.
alignas(8) std::atomic<std::uint32_t> foreign[8]{2};

void wait_for_foreign() {
  while (foreign[0] == 2) {
    syscall(SYS_futex, foreign, FUTEX_WAIT_PRIVATE, 2, nullptr, nullptr, 0);
  }
}

}  // namespace

int main() {
  pthread_mutex_lock(&wanted);
  const auto sleeper = [](void (*wait)()) {
    return [wait](check::Worker& self) {
      self.about_to_block();
      wait();
    };
  };
  check::Worker first(sleeper(contend));
  check::Worker second(sleeper(contend));
  check::Worker third(sleeper(wait_for_foreign));
  for (check::Worker* each : {&first, &second, &third}) each->wait_until_blocked();
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  pthread_mutex_unlock(&wanted);
  foreign[0] = 0;
  syscall(SYS_futex, foreign, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  first.join();
  second.join();
  third.join();
  return 0;
}
