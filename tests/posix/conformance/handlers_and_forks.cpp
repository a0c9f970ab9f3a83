// Signal handlers that interrupt a call, and children of a fork.
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>

#include "probes.hpp"

namespace conformance {
namespace {

std::atomic<int> handled{0};

// The handler's state: not run, run after the wait, or forked.
std::atomic<pid_t> forked{0};
constexpr pid_t too_late = -2;
std::atomic<std::int64_t> end_of_wait{0};

void set_handler(void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
}

}  // namespace

CASE("interrupted calls") {
  for (const int flags : {0, SA_RESTART}) {
    set_handler([](int) { ++handled; }, flags);
    for (const int how : {0, 1, 2, 3}) {
      group = "interrupted by a handler, " + std::string{flags != 0 ? "restarting, " : ""} +
              std::to_string(how);
      handled = 0;
      pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
      pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
      sem_t sem;
      CHECK(sem_init(&sem, 0, 0) == 0);
      bool go = false;
      int result = -1;
      int too_early = 0;
      if (how == 2) OK(pthread_mutex_lock(&mutex));
      check::Worker waiter{[&](check::Worker& self) {
        const timespec late = check::after_ms(CLOCK_REALTIME, 60'000);
        if (how <= 1) OK(pthread_mutex_lock(&mutex));
        self.about_to_block();
        if (how == 2) {
          result = pthread_mutex_lock(&mutex);
        } else if (how == 3) {
          result = sem_wait(&sem) == 0 ? 0 : errno;
          return;
        } else {
          for (;;) {
            result = how == 0 ? pthread_cond_wait(&cond, &mutex)
                              : pthread_cond_timedwait(&cond, &mutex, &late);
            if (go || result != 0) break;
            ++too_early;
          }
        }
        OK(pthread_mutex_unlock(&mutex));
      }};
      waiter.wait_until_blocked();
      check::sleep_us(500);
      const int times = how == 3 ? 1 : 5;
      for (int i = 1; i <= times; ++i) {
        OK(pthread_kill(waiter.handle(), SIGUSR1));
        check::wait_until([&] { return handled == i; });
      }
      check::sleep_ms(2);
      if (how == 2) {
        OK(pthread_mutex_unlock(&mutex));
      } else if (how == 3) {
        // A restarted wait continues until it is woken.
        if (flags != 0) CHECK(sem_post(&sem) == 0);
      } else {
        OK(pthread_mutex_lock(&mutex));
        go = true;
        OK(pthread_cond_signal(&cond));
        OK(pthread_mutex_unlock(&mutex));
      }
      waiter.join();
      probe("result", result);
      report("spurious returns", std::to_string(too_early));
    }
  }
};

// The child of a fork in a handler is inside the wait that the handler interrupted.
CASE("fork in a handler") {
  group = "forked in a handler in a wait";
  set_handler(
      [](int) {
        if (check::nanoseconds(CLOCK_REALTIME) >= end_of_wait) {
          forked = too_late;
          return;
        }
        const pid_t pid = fork();
        if (pid == 0) alarm(child_seconds);
        forked = pid;
      },
      SA_RESTART);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  const pid_t parent = getpid();
  int result = -1;
  forked = too_late;
  for (std::int64_t ms = 40; forked == too_late; ms *= 4) {
    forked = 0;
    end_of_wait = check::nanoseconds(CLOCK_REALTIME) + ms * 1'000'000;
    check::Gate end;
    check::Worker waiter{[&](check::Worker& self) {
      OK(pthread_mutex_lock(&mutex));
      self.about_to_block();
      timespec when = check::to_timespec(end_of_wait);
      result = pthread_cond_timedwait(&cond, &mutex, &when);
      when = soon();
      const int again = pthread_cond_timedwait(&cond, &mutex, &when);
      OK(pthread_mutex_unlock(&mutex));
      if (getpid() == parent) {
        end.pass();  // alive until the signal has come
        return;
      }
      OK(pthread_cond_signal(&cond));
      _exit(again == ETIMEDOUT ? result : 99);
    }};
    waiter.wait_until_blocked();
    check::wait_until([&] { return check::is_free(&mutex); });
    OK(pthread_kill(waiter.handle(), SIGUSR1));
    check::wait_until([&] { return forked != 0; });
    CHECK(forked > 0 || forked == too_late);
    end.open();
  }
  probe("in the parent", result);
  report("in the child", end_of(forked));
};

CASE("forks") {
  for (const int type : check::all_types) {
    group = std::string{"mutex "} + check::type_name(type) + " held across a fork";
    pthread_mutex_t mutex;
    check::init_mutex(&mutex, type);
    OK(pthread_mutex_lock(&mutex));
    report("unlock in the child", in_child([&] { return pthread_mutex_unlock(&mutex); }));
    report("trylock in the child", in_child([&] { return pthread_mutex_trylock(&mutex); }));
    report("destroy in the child", in_child([&] { return pthread_mutex_destroy(&mutex); }));
    report("unlock, lock and unlock in the child", in_child([&] {
             if (const int result = pthread_mutex_unlock(&mutex)) return result;
             if (const int result = pthread_mutex_lock(&mutex)) return result;
             return pthread_mutex_unlock(&mutex);
           }));
    probe("unlock in the parent", pthread_mutex_unlock(&mutex));
    check::Gate end;
    check::Holder holder{&mutex, end};
    report("trylock in the child of another's",
           in_child([&] { return pthread_mutex_trylock(&mutex); }));
    report("timedlock in the child of another's", in_child([&] {
             const timespec when = soon();
             return pthread_mutex_timedlock(&mutex, &when);
           }));
    report("init in the child of another's", in_child([&] {
             check::init_mutex(&mutex, PTHREAD_MUTEX_NORMAL);
             if (const int result = pthread_mutex_lock(&mutex)) return result;
             if (const int result = pthread_mutex_unlock(&mutex)) return result;
             return pthread_mutex_destroy(&mutex);
           }));
    end.open();
    holder.join();
    report("lock and unlock in a child's child", in_child([&] {
             const pid_t pid = fork();
             if (pid == 0) {
               if (pthread_mutex_lock(&mutex) != 0) _exit(1);
               _exit(pthread_mutex_unlock(&mutex));
             }
             int status = -1;
             return waitpid(pid, &status, 0) == pid ? status : 99;
           }));
  }
  group = "cond across a fork";
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  bool go = false;
  check::Worker waiter{[&](check::Worker& self) {
    OK(pthread_mutex_lock(&mutex));
    self.about_to_block();
    while (!go) OK(pthread_cond_wait(&cond, &mutex));
    OK(pthread_mutex_unlock(&mutex));
  }};
  waiter.wait_until_blocked();
  check::wait_until([&] { return check::is_free(&mutex); });
  report("timedwait in the child", in_child([&] {
           OK(pthread_mutex_lock(&mutex));
           const timespec when = soon();
           const int result = pthread_cond_timedwait(&cond, &mutex, &when);
           OK(pthread_mutex_unlock(&mutex));
           return result;
         }));
  report("destroy of the waiter's mutex in the child",
         in_child([&] { return pthread_mutex_destroy(&mutex); }));
  report("broadcast in the child", in_child([&] { return pthread_cond_broadcast(&cond); }));
  OK(pthread_mutex_lock(&mutex));
  go = true;
  OK(pthread_cond_signal(&cond));
  OK(pthread_mutex_unlock(&mutex));
  waiter.join();
};

// A private mutex in memory that two processes share, never contended.
CASE("private mutex in shared memory") {
  group = "private mutex in shared memory";
  void* memory = mmap(nullptr, 4'096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  auto* mutex = static_cast<pthread_mutex_t*>(memory);
  OK(pthread_mutex_init(mutex, nullptr));
  auto lock_and_unlock = [&] {
    if (const int result = pthread_mutex_lock(mutex)) return result;
    return pthread_mutex_unlock(mutex);
  };
  probe("before", lock_and_unlock());
  report("in a child", in_child(lock_and_unlock));
  probe("after", lock_and_unlock());
  report("in another child", in_child(lock_and_unlock));
  OK(pthread_mutex_lock(mutex));
  report("trylock in a child", in_child([&] { return pthread_mutex_trylock(mutex); }));
  probe("unlock", pthread_mutex_unlock(mutex));
  report("trylock in a child when free", in_child([&] { return pthread_mutex_trylock(mutex); }));
  probe("trylock after a child left it locked", pthread_mutex_trylock(mutex));
  probe("unlock after that", pthread_mutex_unlock(mutex));
  probe("in the end", lock_and_unlock());
};

}  // namespace conformance
