// Other programs started by every function of POSIX, while threads hold and queue for mutexes. The
// started program shares no mutex and finds its own free.
#include "../support/children.hpp"

#include <fcntl.h>
#include <spawn.h>

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
volatile long counter = 0;

// Calls start() while another thread takes the mutex repeatedly, alternately with and without the
// mutex held.
template <class Start>
void while_contended(Start start) {
  std::atomic<bool> done{false};
  std::atomic<long> rounds{0};
  long expected = 0;
  counter = 0;
  check::Worker other{[&](check::Worker&) {
    for (; !done; ++rounds) {
      OK(pthread_mutex_lock(&mutex));
      counter = counter + 1;
      OK(pthread_mutex_unlock(&mutex));
      if (rounds % 64 == 0) sched_yield();
    }
  }};
  for (int i = 0; i < 4; ++i) {
    const long before = rounds;
    check::wait_until([&] { return rounds != before; });
    if (i % 2 == 0) start();
    OK(pthread_mutex_lock(&mutex));
    const long before_increment = counter;
    if (i % 2 != 0) start();
    counter = before_increment + 1;
    ++expected;
    OK(pthread_mutex_unlock(&mutex));
  }
  done = true;
  other.join();
  CHECK_EQ(expected + rounds, counter);
}

// The arguments that make this program run the next case.
char self[] = "/proc/self/exe";
char usable[] = "usable";
char* const again[] = {self, usable, nullptr};

CASE("usable") {
  counter = 0;
  CHECK(check::is_free(&mutex));
  check::in_parallel(2, [&](int) {
    for (int i = 0; i < 100; ++i) {
      OK(pthread_mutex_lock(&mutex));
      counter = counter + 1;
      OK(pthread_mutex_unlock(&mutex));
    }
  });
  CHECK_EQ(200, counter);
};

// The started program's output is discarded.
const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

CASE("child of vfork") {
  while_contended([] {
    // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork,bugprone-unsafe-functions)
    const pid_t pid = vfork();
    if (pid == 0) {
      execv(self, again);
      _exit(1);
    }
    check::await_child(pid);
  });
  // A child that starts no program shares the parent's memory until its end.
  while_contended([] {
    // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork,bugprone-unsafe-functions)
    const pid_t pid = vfork();
    if (pid == 0) _exit(0);
    check::await_child(pid);
  });
};

CASE("spawned") {
  posix_spawn_file_actions_t quietly;
  OK(posix_spawn_file_actions_init(&quietly));
  OK(posix_spawn_file_actions_adddup2(&quietly, nowhere, 1));
  posix_spawnattr_t attributes;
  OK(posix_spawnattr_init(&attributes));
  sigset_t none;
  sigemptyset(&none);
  OK(posix_spawnattr_setsigmask(&attributes, &none));
  OK(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP));
  while_contended([&] {
    pid_t pid = -1;
    OK(posix_spawn(&pid, self, &quietly, nullptr, again, environ));
    check::await_child(pid);
    OK(posix_spawnp(&pid, self, &quietly, &attributes, again, environ));
    check::await_child(pid);
    // A failed start has no effect on the mutex.
    CHECK_RC(ENOENT, posix_spawn(&pid, "/no/such/program", nullptr, nullptr, again, environ));
  });
  OK(posix_spawnattr_destroy(&attributes));
  OK(posix_spawn_file_actions_destroy(&quietly));
};

CASE("by the shell") {
  while_contended([] {
    CHECK_EQ(0, std::system("exit 0"));         // NOLINT(bugprone-command-processor)
    std::FILE* pipe = popen("echo yes", "re");  // NOLINT(bugprone-command-processor)
    CHECK(pipe != nullptr);
    char line[8] = {};
    CHECK(std::fgets(line, sizeof line, pipe) != nullptr && std::strcmp(line, "yes\n") == 0);
    CHECK_EQ(0, pclose(pipe));
  });
};

// A program that is replaced while its threads hold and wait for a mutex.
CASE("replaced") {
  const pid_t pid = fork();
  if (pid == 0) {
    OK(pthread_mutex_lock(&mutex));
    auto wait = [](check::Worker& worker) {
      worker.about_to_block();
      pthread_mutex_lock(&mutex);
    };
    auto* first = new check::Worker{wait};
    auto* second = new check::Worker{wait};
    first->wait_until_blocked();
    second->wait_until_blocked();
    CHECK(dup2(nowhere, 1) == 1);
    execv(self, again);
    _exit(1);
  }
  check::await_child(pid);
};

}  // namespace
