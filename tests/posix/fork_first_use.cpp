// fork while another thread takes the first lock of the process: an initialisation that it has
// begun is not completed in the child.
#include "../support/children.hpp"

namespace {

// Called in a process that has not locked anything yet.
void fork_during_the_first_lock(int microseconds) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<bool> begins{false};
  check::Worker first{[&](check::Worker&) {
    begins.store(true);
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
  }};
  while (!begins.load()) {
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < until) {
  }
  check::in_child([&] {
    OK(pthread_mutex_lock(&other));
    OK(pthread_mutex_unlock(&other));
  });
  first.join();
}

CASE("during the first lock") {
  for (int i = 0; i < 30; ++i) {
    check::in_child([&] { fork_during_the_first_lock(3 * i); });
  }
};

}  // namespace
