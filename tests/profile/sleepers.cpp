// Two threads that sleep for a mutex until standard input ends, and one that sleeps for a lock of
// another kind.
#include "../support/check.hpp"

namespace {

pthread_mutex_t wanted = PTHREAD_MUTEX_INITIALIZER;

[[gnu::noinline]] void contend() {
  pthread_mutex_lock(&wanted);
  pthread_mutex_unlock(&wanted);
}

/// As of a language that brings its own: what follows the word that is slept for is no owner.
alignas(8) std::atomic<std::uint32_t> foreign[8]{2};

void want_foreign() {
  while (foreign[0] == 2) {
    syscall(SYS_futex, foreign, FUTEX_WAIT_PRIVATE, 2, nullptr, nullptr, 0);
  }
}

}  // namespace

int main() {
  pthread_mutex_lock(&wanted);
  const auto sleep_for = [](void (*what)()) {
    return [what](check::Worker& self) {
      self.about_to_block();
      what();
    };
  };
  check::Worker one(sleep_for(contend));
  check::Worker two(sleep_for(contend));
  check::Worker three(sleep_for(want_foreign));
  for (check::Worker* each : {&one, &two, &three}) each->wait_until_blocked();
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  pthread_mutex_unlock(&wanted);
  foreign[0] = 0;
  syscall(SYS_futex, foreign, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  one.join();
  two.join();
  three.join();
  return 0;
}
