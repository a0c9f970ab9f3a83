// Deadlines in the program's time, as a library such as libfaketime provides it: each call with a
// deadline must end with the right result, and not before the deadline by that time.
#include <semaphore.h>
#include <threads.h>

#include "../support/check.hpp"

namespace {

// Returns the time in `ms` by the program's clock, which may differ from the kernel's.
timespec in_ms(clockid_t clock, std::int64_t ms) {
  timespec now;
  CHECK(clock_gettime(clock, &now) == 0);
  const std::int64_t sum = now.tv_nsec + ms * 1'000'000;
  return {now.tv_sec + sum / 1'000'000'000, sum % 1'000'000'000};
}

bool has_passed(clockid_t clock, const timespec& when) {
  const timespec now = in_ms(clock, 0);
  return now.tv_sec != when.tv_sec ? now.tv_sec > when.tv_sec : now.tv_nsec >= when.tv_nsec;
}

// Prints whether the call times out, and not before its deadline.
template <class Call>
void report_timeout(const char* name, int expected, clockid_t clock, Call call) {
  const timespec when = in_ms(clock, 20);
  const int result = call(when);
  const bool passed = has_passed(clock, when);
  std::printf("%s: %s\n", name,
              result != expected ? "wrong result"
              : passed           ? "right"
                                 : "too early");
  std::fflush(stdout);
  timespec before = in_ms(clock, 0);
  --before.tv_sec;
  std::printf("%s, in the past: %s\n", name, call(before) == expected ? "right" : "wrong result");
  std::fflush(stdout);
}

int error_of(int result) { return result == 0 ? 0 : errno; }

void mutexes(const char* kind, pthread_mutex_t& mutex) {
  check::Gate end;
  check::Holder holder{&mutex, end};
  const std::string name{kind};
  report_timeout((name + " pthread_mutex_timedlock").c_str(), ETIMEDOUT, CLOCK_REALTIME,
                 [&](const timespec& when) { return pthread_mutex_timedlock(&mutex, &when); });
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC})
    report_timeout(
        (name + " pthread_mutex_clocklock " + std::to_string(clock)).c_str(), ETIMEDOUT, clock,
        [&](const timespec& when) { return pthread_mutex_clocklock(&mutex, clock, &when); });
  end.open();
  holder.join();
}

void c11() {
  mtx_t mutex;
  CHECK(mtx_init(&mutex, mtx_timed) == thrd_success);
  cnd_t cond;
  CHECK(cnd_init(&cond) == thrd_success);
  CHECK(mtx_lock(&mutex) == thrd_success);
  report_timeout("cnd_timedwait", thrd_timedout, CLOCK_REALTIME,
                 [&](const timespec& when) { return cnd_timedwait(&cond, &mutex, &when); });
  check::Worker{[&](check::Worker&) {
    report_timeout("mtx_timedlock", thrd_timedout, CLOCK_REALTIME,
                   [&](const timespec& when) { return mtx_timedlock(&mutex, &when); });
  }}.join();
  CHECK(mtx_unlock(&mutex) == thrd_success);
  cnd_destroy(&cond);
  mtx_destroy(&mutex);
}

void conds(int shared, pthread_mutex_t& mutex) {
  const std::string name = shared == PTHREAD_PROCESS_SHARED ? "shared " : "";
  OK(pthread_mutex_lock(&mutex));
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    pthread_condattr_t attributes;
    OK(pthread_condattr_init(&attributes));
    OK(pthread_condattr_setpshared(&attributes, shared));
    OK(pthread_condattr_setclock(&attributes, clock));
    pthread_cond_t cond;
    OK(pthread_cond_init(&cond, &attributes));
    OK(pthread_condattr_destroy(&attributes));
    // A shared condition variable may have spurious wake-ups.
    const auto until_timeout = [&](const timespec& when, auto wait) {
      int result = wait();
      while (result == 0 && shared == PTHREAD_PROCESS_SHARED && !has_passed(clock, when))
        result = wait();
      return shared == PTHREAD_PROCESS_SHARED && result == 0 ? ETIMEDOUT : result;
    };
    report_timeout((name + "pthread_cond_timedwait " + std::to_string(clock)).c_str(), ETIMEDOUT,
                   clock, [&](const timespec& when) {
                     return until_timeout(
                         when, [&] { return pthread_cond_timedwait(&cond, &mutex, &when); });
                   });
    report_timeout((name + "pthread_cond_clockwait " + std::to_string(clock)).c_str(), ETIMEDOUT,
                   clock, [&](const timespec& when) {
                     return until_timeout(
                         when, [&] { return pthread_cond_clockwait(&cond, &mutex, clock, &when); });
                   });
    OK(pthread_cond_destroy(&cond));
  }
  OK(pthread_mutex_unlock(&mutex));
}

void semaphores() {
  sem_t sem;
  CHECK(sem_init(&sem, 0, 0) == 0);
  report_timeout("sem_timedwait", ETIMEDOUT, CLOCK_REALTIME,
                 [&](const timespec& when) { return error_of(sem_timedwait(&sem, &when)); });
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC})
    report_timeout(
        ("sem_clockwait " + std::to_string(clock)).c_str(), ETIMEDOUT, clock,
        [&](const timespec& when) { return error_of(sem_clockwait(&sem, clock, &when)); });
  CHECK(sem_destroy(&sem) == 0);
}

void rwlocks() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  OK(pthread_rwlock_wrlock(&lock));
  check::Worker{[&](check::Worker&) {
    report_timeout("pthread_rwlock_timedrdlock", ETIMEDOUT, CLOCK_REALTIME,
                   [&](const timespec& when) { return pthread_rwlock_timedrdlock(&lock, &when); });
    report_timeout("pthread_rwlock_timedwrlock", ETIMEDOUT, CLOCK_REALTIME,
                   [&](const timespec& when) { return pthread_rwlock_timedwrlock(&lock, &when); });
    for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
      report_timeout(
          ("pthread_rwlock_clockrdlock " + std::to_string(clock)).c_str(), ETIMEDOUT, clock,
          [&](const timespec& when) { return pthread_rwlock_clockrdlock(&lock, clock, &when); });
      report_timeout(
          ("pthread_rwlock_clockwrlock " + std::to_string(clock)).c_str(), ETIMEDOUT, clock,
          [&](const timespec& when) { return pthread_rwlock_clockwrlock(&lock, clock, &when); });
    }
  }}.join();
  OK(pthread_rwlock_unlock(&lock));
}

// A signal comes long before the deadline.
void signalled() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  bool go = false;
  OK(pthread_mutex_lock(&mutex));
  check::Worker other{[&](check::Worker&) {
    OK(pthread_mutex_lock(&mutex));
    go = true;
    OK(pthread_cond_signal(&cond));
    OK(pthread_mutex_unlock(&mutex));
  }};
  const timespec when = in_ms(CLOCK_REALTIME, 100'000'000);
  int result = 0;
  while (!go && result == 0) result = pthread_cond_timedwait(&cond, &mutex, &when);
  OK(pthread_mutex_unlock(&mutex));
  other.join();
  std::printf("pthread_cond_timedwait, signalled: %s\n", result == 0 ? "right" : "wrong result");
}

}  // namespace

int main() {
  timespec kernel;
  CHECK(syscall(SYS_clock_gettime, CLOCK_REALTIME, &kernel) == 0);
  const double ahead = static_cast<double>(in_ms(CLOCK_REALTIME, 0).tv_sec - kernel.tv_sec);
  std::printf("days ahead: %.0f\n", ahead / 86'400);
  pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
  mutexes("normal", normal);
  conds(PTHREAD_PROCESS_PRIVATE, normal);
  pthread_mutex_t shared;
  check::init_mutex(&shared, PTHREAD_MUTEX_DEFAULT, [](pthread_mutexattr_t* attributes) {
    OK(pthread_mutexattr_setpshared(attributes, PTHREAD_PROCESS_SHARED));
  });
  mutexes("shared", shared);
  conds(PTHREAD_PROCESS_SHARED, shared);
  semaphores();
  rwlocks();
  c11();
  signalled();
  return 0;
}
