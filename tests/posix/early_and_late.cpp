// Mutexes before main and after it: in the program's own pre-initialisation, which runs before any
// library's constructor, in a library's constructor and destructor, in exit handlers, and while
// other threads wait for mutexes that no thread will release.
#include "../support/children.hpp"
#include "first_library.hpp"

namespace {

pthread_mutex_t before_everything = PTHREAD_MUTEX_INITIALIZER;
int early = 0;

void pre_initialise(int, char**, char**) {
  OK(pthread_mutex_lock(&before_everything));
  CHECK_RC(EBUSY, pthread_mutex_trylock(&before_everything));
  OK(pthread_mutex_unlock(&before_everything));
  OK(pthread_mutex_trylock(&before_everything));  // held until main
  ++early;
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const pre)(int, char**,
                                                                char**) = pre_initialise;

struct Global {
  Global() { use_everything(true); }
  ~Global() { use_everything(true); }
  Global(const Global&) = delete;
  Global& operator=(const Global&) = delete;
} global;

CASE("before main") {
  CHECK_EQ(1, early);
  CHECK_RC(EBUSY, pthread_mutex_trylock(&before_everything));
  OK(pthread_mutex_unlock(&before_everything));
  CHECK(check::is_free(&before_everything));
  CHECK_EQ(1, times_constructed());
  check_held_since_the_constructor();
};

// The process ends while threads hold mutexes and wait for mutexes and signals.
void exit_with_waiters(bool by_quick_exit) {
  static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  static pthread_mutex_t for_cond = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  OK(pthread_mutex_lock(&held));
  auto wait_for_mutex = [](check::Worker& self) {
    self.about_to_block();
    pthread_mutex_lock(&held);
  };
  auto wait_for_signal = [](check::Worker& self) {
    OK(pthread_mutex_lock(&for_cond));
    self.about_to_block();
    for (;;) pthread_cond_wait(&cond, &for_cond);
  };
  // Never joined: they wait until the process ends.
  auto* first = new check::Worker{wait_for_mutex};
  auto* second = new check::Worker{wait_for_mutex};
  auto* third = new check::Worker{wait_for_signal};
  first->wait_until_blocked();
  second->wait_until_blocked();
  third->wait_until_blocked();
  CHECK(std::atexit([] { use_everything(true); }) == 0);
  if (by_quick_exit) std::quick_exit(0);
  std::exit(0);
}

CASE("ends while others wait") {
  for (const bool quick : {false, true}) {
    check::in_child([&] { exit_with_waiters(quick); });
  }
};

std::unique_ptr<check::Waiter> queued;
pthread_mutex_t* queued_for = nullptr;

// The fork handlers that run first in the child release a mutex that a thread of the parent queues
// for.
CASE("first handlers of fork") {
  during_fork = [](pthread_mutex_t* mutex) {
    queued_for = mutex;
    queued = std::make_unique<check::Waiter>(queued_for);
  };
  const pid_t pid = fork();
  CHECK(pid >= 0);
  during_fork = nullptr;
  if (pid == 0) {
    OK(pthread_mutex_trylock(queued_for));
    OK(pthread_mutex_unlock(queued_for));
    OK(pthread_mutex_lock(queued_for));
    _exit(0);
  }
  check::await_child(pid);
  queued.reset();
};

CASE("in exit handlers") {
  CHECK(std::atexit([] { use_everything(true); }) == 0);
};

}  // namespace
