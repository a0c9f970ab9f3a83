// fork while another thread takes the first lock of the process: what that thread was making ready
// for all is not ready in the child, where no thread goes on with it.
#include "../support/check.hpp"

#include <sys/wait.h>

namespace {

void await(pid_t pid) {
  int status = -1;
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
  CHECK_EQ(0, status);
}

// In a process that has not locked anything yet.
void fork_during_the_first_lock(int microseconds) {
  pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<bool> begins{false};
  check::Worker first{[&](check::Worker&) {
    begins.store(true);
    OK(pthread_mutex_lock(&one));
    OK(pthread_mutex_unlock(&one));
  }};
  while (!begins.load()) {
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < until) {
  }
  const pid_t child = fork();
  if (child == 0) {
    OK(pthread_mutex_lock(&other));
    OK(pthread_mutex_unlock(&other));
    _exit(0);
  }
  await(child);
  first.join();
}

std::string during_the_first_lock() {
  for (int i = 0; i < 30; ++i) {
    const pid_t fresh = fork();
    if (fresh == 0) {
      fork_during_the_first_lock(3 * i);
      _exit(0);
    }
    await(fresh);
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  return check::run(argc, argv, {{"during the first lock", during_the_first_lock}});
}
