// POSIX semaphores: no unit is lost and none is created, with timeouts, signals, cancellation
// and forks at any time.
#include "../support/children.hpp"

#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <csignal>

namespace {

#define FAILS_WITH(error, call) (CHECK_EQ(-1, (call)), CHECK_EQ(error, errno))

int value_of(sem_t* sem) {
  int value = -1;
  OK(sem_getvalue(sem, &value));
  return value;
}

// Units that circulate: a thread that takes one, by any call, gives it back.
std::string circulating_units(int threads, unsigned units) {
  sem_t sem;
  OK(sem_init(&sem, 0, units));
  std::atomic<int> inside{0};
  std::atomic<long> taken{0};
  const check::Budget budget{200};
  check::in_parallel(threads, [&](int i) {
    check::Random random(static_cast<std::uint64_t>(i));
    while (!budget.spent()) {
      const std::uint32_t how = random.below(4);
      int result = 0;
      if (how == 0) {
        result = sem_trywait(&sem);
      } else if (how == 1) {
        const timespec soon =
            check::to_timespec(check::nanoseconds(CLOCK_REALTIME) + random.below(200'000));
        result = sem_timedwait(&sem, &soon);
      } else {
        OK(sem_wait(&sem));
      }
      if (result != 0) {
        CHECK(errno == EAGAIN || errno == ETIMEDOUT);
        continue;
      }
      CHECK(inside.fetch_add(1) < static_cast<int>(units));
      if (random.below(8) == 0) sched_yield();
      inside.fetch_sub(1);
      taken.fetch_add(1);
      OK(sem_post(&sem));
    }
  });
  CHECK_EQ(units, value_of(&sem));
  OK(sem_destroy(&sem));
  return "taken " + std::to_string(taken.load());
}

// Two threads that wake each other: one lost wake-up hangs them.
CASE("ping-pong") {
  sem_t ball[2];
  OK(sem_init(&ball[0], 0, 1));
  OK(sem_init(&ball[1], 0, 0));
  const check::Budget budget{300};
  long rounds = 0;
  std::atomic<bool> over{false};
  check::in_parallel(2, [&](int i) {
    while (true) {
      OK(sem_wait(&ball[i]));
      if (i == 0 && (budget.spent() || ++rounds == 20'000)) over = true;
      const bool last = over.load();
      OK(sem_post(&ball[1 - i]));
      if (last) return;
    }
  });
  return "rounds " + std::to_string(rounds);
};

CASE("deadlines") {
  sem_t sem;
  OK(sem_init(&sem, 0, 1));
  const timespec past = check::to_timespec(1);
  OK(sem_timedwait(&sem, &past));  // does not wait, for a unit is available
  FAILS_WITH(ETIMEDOUT, sem_timedwait(&sem, &past));
  const timespec before_all = {-1, 0};
  FAILS_WITH(ETIMEDOUT, sem_timedwait(&sem, &before_all));
  const timespec invalid = {1, 1'000'000'000};
  FAILS_WITH(EINVAL, sem_timedwait(&sem, &invalid));
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    const timespec soon = check::after_ms(clock, 5);
    FAILS_WITH(ETIMEDOUT, sem_clockwait(&sem, clock, &soon));
    CHECK(check::nanoseconds(clock) >= soon.tv_sec * std::int64_t{1'000'000'000} + soon.tv_nsec);
    const timespec late = check::after_ms(clock, 600'000);
    check::Worker waiter([&](check::Worker& self) {
      self.about_to_block();
      OK(sem_clockwait(&sem, clock, &late));
    });
    waiter.wait_until_blocked();
    OK(sem_post(&sem));
  }
  FAILS_WITH(EINVAL, sem_clockwait(&sem, CLOCK_THREAD_CPUTIME_ID, &past));
  CHECK_EQ(0, value_of(&sem));
  OK(sem_destroy(&sem));
};

void ignore(int) {}

// A handler ends the wait, unless it was installed with SA_RESTART.
CASE("interrupted") {
  sem_t sem;
  OK(sem_init(&sem, 0, 0));
  for (const bool restarts : {false, true}) {
    struct sigaction action = {};
    action.sa_handler = ignore;
    action.sa_flags = restarts ? SA_RESTART : 0;
    CHECK_EQ(0, sigaction(SIGUSR1, &action, nullptr));
    std::atomic<int> error{-1};
    check::Worker waiter([&](check::Worker& self) {
      self.about_to_block();
      error = sem_wait(&sem) == 0 ? 0 : errno;
    });
    waiter.wait_until_blocked();
    OK(pthread_kill(waiter.handle(), SIGUSR1));
    if (restarts) {
      check::sleep_ms(20);
      CHECK_EQ(-1, error.load());
      OK(sem_post(&sem));
    }
    waiter.join();
    CHECK_EQ(restarts ? 0 : EINTR, error.load());
  }
  CHECK_EQ(0, value_of(&sem));
  OK(sem_destroy(&sem));
};

CASE("cancelled") {
  sem_t sem;
  OK(sem_init(&sem, 0, 0));
  check::Worker waiter([&](check::Worker& self) {
    self.about_to_block();
    sem_wait(&sem);
    CHECK(false);
  });
  waiter.wait_until_blocked();
  OK(pthread_cancel(waiter.handle()));
  CHECK(waiter.join() == PTHREAD_CANCELED);
  OK(sem_post(&sem));
  CHECK_EQ(1, value_of(&sem));
  // A wait is a cancellation point even if a unit is available.
  check::Worker with_unit([&](check::Worker&) {
    OK(pthread_cancel(pthread_self()));
    sem_wait(&sem);
    CHECK(false);
  });
  CHECK(with_unit.join() == PTHREAD_CANCELED);
  CHECK_EQ(1, value_of(&sem));
  OK(sem_destroy(&sem));
};

// The post and the cancellation race: the thread takes the unit or it stays, and is never lost.
CASE("cancelled while posted") {
  const check::Budget budget{300};
  long rounds = 0;
  long remaining = 0;
  sem_t sem;
  for (; rounds < 2'000 && !budget.spent(); ++rounds) {
    OK(sem_init(&sem, 0, 0));
    bool has_unit = false;
    check::Worker waiter([&](check::Worker& self) {
      self.about_to_block();
      sem_wait(&sem);
      has_unit = true;
    });
    if (rounds % 2 == 0) waiter.wait_until_blocked();
    check::Worker poster([&](check::Worker&) { OK(sem_post(&sem)); });
    OK(pthread_cancel(waiter.handle()));
    waiter.join();
    poster.join();
    CHECK_EQ(has_unit ? 0 : 1, value_of(&sem));
    remaining += has_unit ? 0 : 1;
    OK(sem_destroy(&sem));
  }
  return "rounds " + std::to_string(rounds) + " remaining " + std::to_string(remaining);
};

sem_t from_handler;
std::atomic<long> posted_by_handler{0};

void post(int) {
  if (sem_post(&from_handler) != 0) _exit(3);
  posted_by_handler.fetch_add(1);
}

// A handler posts wherever it interrupts the threads that wait for and post the same semaphore.
CASE("posts from a handler") {
  OK(sem_init(&from_handler, 0, 0));
  posted_by_handler = 0;
  struct sigaction action = {};
  action.sa_handler = post;
  action.sa_flags = SA_RESTART;
  CHECK_EQ(0, sigaction(SIGUSR2, &action, nullptr));
  std::atomic<long> posted{0};
  std::atomic<long> taken{0};
  std::atomic<bool> over{false};
  std::vector<std::unique_ptr<check::Worker>> workers;
  for (int i = 0; i < 4; ++i)
    workers.push_back(std::make_unique<check::Worker>([&, i](check::Worker&) {
      check::Random random(static_cast<std::uint64_t>(i));
      while (!over.load()) {
        if (random.below(16) == 0) {
          OK(sem_post(&from_handler));
          posted.fetch_add(1);
          continue;
        }
        // Half of the threads hardly sleep, to be interrupted as they begin and end their waits.
        const timespec soon =
            check::to_timespec(i % 2 == 0 ? 1 : check::nanoseconds(CLOCK_REALTIME) + 300'000);
        if (sem_timedwait(&from_handler, &soon) == 0) {
          taken.fetch_add(1);
        } else {
          CHECK(errno == ETIMEDOUT || errno == EINTR);
        }
      }
    }));
  const check::Budget budget{400};
  for (std::size_t next = 0; !budget.spent(); ++next) {
    OK(pthread_kill(workers[next % workers.size()]->handle(), SIGUSR2));
  }
  over = true;
  workers.clear();
  CHECK_EQ(posted.load() + posted_by_handler.load() - taken.load(), value_of(&from_handler));
  OK(sem_destroy(&from_handler));
  return "by the handler " + std::to_string(posted_by_handler.load());
};

// A thread that gives up a wait and posts, while another one waits; the handler posts too. Stops
// before it begins, and when it has ended.
[[noreturn]] void be_stepped() {
  static std::atomic<long> taken{0};
  static std::atomic<long> posted{0};
  const timespec past = check::to_timespec(1);
  check::Worker helper([&](check::Worker&) {
    for (;;) {
      OK(sem_wait(&from_handler));
      taken.fetch_add(1);
    }
  });
  for (;;) {
    raise(SIGSTOP);
    const bool has_unit = sem_timedwait(&from_handler, &past) == 0;
    OK(sem_post(&from_handler));
    raise(SIGUSR1);
    posted.fetch_add(has_unit ? 0 : 1);
    // Hangs if a unit was lost.
    check::wait_until([] { return taken.load() == posted.load() + posted_by_handler.load(); });
  }
}

int next_stop(pid_t child) {
  int status = 0;
  CHECK_EQ(child, waitpid(child, &status, 0));
  CHECK(WIFSTOPPED(status));
  return WSTOPSIG(status);
}

// Has the child execute `steps` instructions and then interrupts it with the handler. Returns how
// many it executed, fewer if its round has ended.
int interrupt_after(pid_t child, int steps) {
  while (next_stop(child) != SIGSTOP) CHECK_EQ(0, ptrace(PTRACE_CONT, child, 0, 0));
  for (int i = 0; i < steps; ++i) {
    CHECK_EQ(0, ptrace(PTRACE_SINGLESTEP, child, 0, 0));
    if (next_stop(child) == SIGUSR1) {
      CHECK_EQ(0, ptrace(PTRACE_CONT, child, 0, 0));
      return i;
    }
  }
  CHECK_EQ(0, ptrace(PTRACE_CONT, child, 0, SIGUSR2));
  return steps;
}

// The same at each instruction, as far as time permits.
CASE("posts from a handler between two instructions") {
  OK(sem_init(&from_handler, 0, 0));
  posted_by_handler = 0;
  struct sigaction action = {};
  action.sa_handler = post;
  CHECK_EQ(0, sigaction(SIGUSR2, &action, nullptr));
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(0);
    be_stepped();
  }
  int status = 0;
  CHECK_EQ(child, waitpid(child, &status, 0));
  if (WIFEXITED(status)) return std::string{"not possible: no process may trace another one here"};
  CHECK_EQ(0, ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL));
  CHECK_EQ(0, ptrace(PTRACE_CONT, child, 0, 0));
  const int all = interrupt_after(child, 100'000);
  const check::Budget budget{600};
  int rounds = 0;
  // A prime stride, so that all numbers below `all` occur, distant ones first.
  for (int step = 0; rounds < all && !budget.spent(); ++rounds, step = (step + 211) % all)
    interrupt_after(child, step);
  CHECK_EQ(0, kill(child, SIGKILL));
  CHECK_EQ(child, waitpid(child, &status, 0));
  OK(sem_destroy(&from_handler));
  return "after " + std::to_string(rounds) + " of " + std::to_string(all);
};

// The thread that gets the unit unmaps the memory at once: the post must not access it again.
CASE("unmapped after the last wait") {
  const check::Budget budget{300};
  long rounds = 0;
  for (; rounds < 3'000 && !budget.spent(); ++rounds) {
    void* page = mmap(nullptr, 4'096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    auto* sem = static_cast<sem_t*>(page);
    OK(sem_init(sem, 0, 0));
    check::in_parallel(2, [&](int i) {
      if (i == 0) {
        OK(sem_post(sem));
      } else {
        OK(sem_wait(sem));
        OK(sem_destroy(sem));
        CHECK_EQ(0, munmap(page, 4'096));
      }
    });
  }
  return "rounds " + std::to_string(rounds);
};

void alternate(sem_t* awaited, sem_t* posted) {
  for (int i = 0; i < 100; ++i) {
    OK(sem_wait(awaited));
    OK(sem_post(posted));
  }
}

void with_a_child(sem_t* of_parent, sem_t* of_child) {
  OK(sem_post(of_parent));
  const pid_t child = check::start_child([&] { alternate(of_child, of_parent); });
  alternate(of_parent, of_child);
  check::await_child(child);
}

CASE("between processes") {
  void* page = mmap(nullptr, 4'096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  auto* both = static_cast<sem_t*>(page);
  OK(sem_init(&both[0], 1, 0));
  OK(sem_init(&both[1], 1, 0));
  with_a_child(&both[0], &both[1]);
  OK(sem_destroy(&both[0]));
  OK(sem_destroy(&both[1]));
  CHECK_EQ(0, munmap(page, 4'096));
  sem_t* named[2];
  for (int i = 0; i < 2; ++i) {
    const std::string name = "/lockwright-" + std::to_string(getpid()) + "-" + std::to_string(i);
    named[i] = sem_open(name.c_str(), O_CREAT | O_EXCL, 0600, 0);
    CHECK(named[i] != SEM_FAILED);
    CHECK_EQ(0, sem_unlink(name.c_str()));
  }
  with_a_child(named[0], named[1]);
  for (sem_t* sem : named) CHECK_EQ(0, sem_close(sem));
};

// The child inherits the count, and none of the waiters.
CASE("forked while others wait") {
  sem_t waited_for;
  sem_t counted;
  OK(sem_init(&waited_for, 0, 0));
  OK(sem_init(&counted, 0, 3));
  check::Worker waiter([&](check::Worker& self) {
    self.about_to_block();
    OK(sem_wait(&waited_for));
  });
  waiter.wait_until_blocked();
  check::in_child([&] {
    CHECK_EQ(3, value_of(&counted));
    OK(sem_wait(&counted));
    OK(sem_post(&waited_for));
    OK(sem_wait(&waited_for));
    FAILS_WITH(EAGAIN, sem_trywait(&waited_for));
    check::Worker other([&](check::Worker&) { OK(sem_wait(&waited_for)); });
    OK(sem_post(&waited_for));
    other.join();
  });
  OK(sem_post(&waited_for));
  waiter.join();
  CHECK_EQ(3, value_of(&counted));
};

CASE("one unit") { return circulating_units(4, 1); };
CASE("three units") { return circulating_units(8, 3); };

}  // namespace
