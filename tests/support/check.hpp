// The common parts of the test programs: checks that end the process with a message, threads, and a
// test whether another thread is inside a blocking call.
//
// The programs are plain POSIX thread programs, independent of any lock library, so that they check
// the C library itself as well.
#pragma once

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "budget.hpp"
#include "sleeps.hpp"

namespace check {

// Ends the whole process at once: after a broken exclusion nothing later can be trusted.
[[noreturn, gnu::format(printf, 3, 4)]] inline void fail_at(const char* file, int line,
                                                            const char* format, ...) {
  std::fprintf(stderr, "%s:%d: ", file, line);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  std::fflush(stderr);
  _exit(1);
}

inline const char* error_name(int error) {
  const char* name = error == 0 ? "0" : strerrorname_np(error);
  return name != nullptr ? name : "not an error number";
}

inline void equal_at(const char* file, int line, const char* expression, long long expected,
                     long long actual) {
  if (expected != actual)
    fail_at(file, line, "%s is %lld, expected %lld", expression, actual, expected);
}

inline void returns_at(const char* file, int line, const char* call, int expected, int actual) {
  if (expected != actual)
    fail_at(file, line, "%s returned %s (%d), expected %s", call, error_name(actual), actual,
            error_name(expected));
}

#define CHECK(condition) \
  ((condition) ? void() : ::check::fail_at(__FILE__, __LINE__, "not true: %s", #condition))
#define CHECK_EQ(expected, actual)                                                 \
  ::check::equal_at(__FILE__, __LINE__, #actual, static_cast<long long>(expected), \
                    static_cast<long long>(actual))
#define CHECK_RC(expected, call) ::check::returns_at(__FILE__, __LINE__, #call, expected, call)
#define OK(call) CHECK_RC(0, call)

struct Case {
  const char* name;
  std::function<std::string()> body;  // returns a detail to print, or nothing
};

// The cases of the program, in the order of their definitions.
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Named {
  const char* name;
  template <class Body>
  bool operator<<(Body body) const {
    cases().push_back({name, [body]() -> std::string {
                         if constexpr (std::is_void_v<decltype(body())>)
                           return body(), std::string{};
                         else
                           return body();
                       }});
    return true;
  }
};

// CASE("name") { ... }; defines a case, which returns a detail to print, or nothing.
#define CASE(name) CASE_WITH_NUMBER(name, __LINE__)
#define CASE_WITH_NUMBER(name, number) CASE_AS(name, number)
#define CASE_AS(name, number) \
  [[maybe_unused]] static const bool case_##number = ::check::Named{name} << []

// Returns true for every case without arguments, else for those that the arguments name.
// LOCKWRIGHT_TEST_LEFT_OUT names a case that cannot run on this machine.
inline bool is_wanted(const char* name, int argc, char** argv) {
  const char* left_out = std::getenv("LOCKWRIGHT_TEST_LEFT_OUT");
  if (left_out != nullptr && std::strcmp(left_out, name) == 0) return false;
  bool wanted = argc < 2;
  for (int i = 1; i < argc; ++i) wanted = wanted || std::strcmp(argv[i], name) == 0;
  return wanted;
}

// Runs the cases that the arguments name, or all, and prints a line "ok: name detail" for each.
inline int run(int argc, char** argv) {
  int ran = 0;
  for (const Case& test : cases()) {
    if (!is_wanted(test.name, argc, argv)) continue;
    const std::string detail = test.body();
    std::printf("ok: %s%s%s\n", test.name, detail.empty() ? "" : " ", detail.c_str());
    std::fflush(stdout);
    ++ran;
  }
  if (ran == 0) std::fprintf(stderr, "no such case\n");
  return ran == 0 ? 2 : 0;
}

inline std::int64_t nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

inline timespec to_timespec(std::int64_t ns) {
  return timespec{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

inline timespec after_ms(clockid_t clock, std::int64_t ms) {
  return to_timespec(nanoseconds(clock) + ms * 1'000'000);
}

inline void sleep_us(long us) {
  timespec wait = to_timespec(us * std::int64_t{1'000});
  nanosleep(&wait, nullptr);
}

inline void sleep_ms(long ms) { sleep_us(ms * 1'000); }

// Waits forever: the harness reports a test that hangs, with all stacks.
template <class Predicate>
void wait_until(Predicate&& predicate) {
  while (!predicate()) sleep_us(100);
}

// The same for a predicate evaluated under a mutex.
template <class Predicate>
void wait_until_under(pthread_mutex_t* mutex, Predicate&& predicate) {
  wait_until([&] {
    OK(pthread_mutex_lock(mutex));
    const bool is_true = predicate();
    OK(pthread_mutex_unlock(mutex));
    return is_true;
  });
}

// A gate at which many threads wait parked: hundreds that poll leave no processor to the others.
// Raw futex calls, to be independent of the code under test. Signal handlers may use it too.
class Gate {
 public:
  void pass() {
    while (open_.load() == 0)
      syscall(SYS_futex, &open_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
  void open() {
    open_.store(1);
    syscall(SYS_futex, &open_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }

 private:
  std::atomic<std::uint32_t> open_{0};
};

// An xorshift generator, without a lock.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_{seed * 0x9E3779B97F4A7C15U + 1} {}
  std::uint32_t below(std::uint32_t bound) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::uint32_t>((state_ >> 32) % bound);
  }

 private:
  std::uint64_t state_;
};

// A thread that announces a call that may block; others can wait until it has blocked.
class Worker {
 public:
  template <class Body>
  explicit Worker(Body body) {
    start_ = [body = std::move(body), this] { body(*this); };
    OK(pthread_create(&handle_, nullptr, &Worker::enter, this));
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { join(); }

  // Called by the thread itself, immediately before the call that is to block.
  void about_to_block() {
    announced_cpu_.store(nanoseconds(CLOCK_THREAD_CPUTIME_ID), std::memory_order_relaxed);
    tid_.store(static_cast<pid_t>(syscall(SYS_gettid)), std::memory_order_release);
  }

  // Called by others: returns when the thread sleeps in the kernel, has used 3 ms of CPU time since
  // its announcement, enough to arrive on a machine under any load, or has ended.
  void wait_until_blocked() {
    wait_until([this] { return tid_.load(std::memory_order_acquire) != 0; });
    wait_until(
        [&] { return cpu_time() - announced_cpu_.load() > 3'000'000 || sleeps(tid_.load()); });
  }

  // Returns the thread's CPU time in nanoseconds, exactly constant while it sleeps. The maximum if
  // it has ended, which removes its clock.
  [[nodiscard]] std::int64_t cpu_time() const {
    clockid_t clock;
    timespec used;
    const bool exists =
        pthread_getcpuclockid(handle_, &clock) == 0 && clock_gettime(clock, &used) == 0;
    return exists ? used.tv_sec * std::int64_t{1'000'000'000} + used.tv_nsec
                  : std::numeric_limits<std::int64_t>::max();
  }

  void* join() {
    if (!joined_) OK(pthread_join(handle_, &result_));
    joined_ = true;
    return result_;
  }

  [[nodiscard]] pthread_t handle() const { return handle_; }

 private:
  static void* enter(void* self) {
    static_cast<Worker*>(self)->start_();
    return nullptr;
  }

  std::function<void()> start_;
  pthread_t handle_{};
  std::atomic<std::int64_t> announced_cpu_{0};
  std::atomic<pid_t> tid_{0};
  void* result_ = nullptr;
  bool joined_ = false;
};

// Returns the result of a call made in a new thread.
template <class Call>
int in_thread(Call call) {
  int result = -1;
  Worker([&](Worker&) { result = call(); }).join();
  return result;
}

// A thread that queues for a held mutex from the start, and releases it at once when it gets it.
class Waiter : public Worker {
 public:
  explicit Waiter(pthread_mutex_t* mutex)
      : Worker{[mutex, this](Worker& self) {
          self.about_to_block();
          OK(pthread_mutex_lock(mutex));
          admitted_ = true;
          OK(pthread_mutex_unlock(mutex));
        }} {
    wait_until_blocked();
  }
  ~Waiter() { join(); }
  [[nodiscard]] bool is_admitted() const { return admitted_.load(); }

 private:
  std::atomic<bool> admitted_{false};
};

// A thread that holds a mutex from the start until the gate opens.
class Holder : public Worker {
 public:
  Holder(pthread_mutex_t* mutex, Gate& end)
      : Worker{[mutex, &end](Worker& self) {
          OK(pthread_mutex_lock(mutex));
          self.about_to_block();
          end.pass();
          OK(pthread_mutex_unlock(mutex));
        }} {
    wait_until_blocked();
  }
};

// Starts `threads` workers, releases them all at once, and joins them.
template <class Body>
void in_parallel(int threads, Body body) {
  std::atomic<int> ready{0};
  Gate go;
  std::vector<std::unique_ptr<Worker>> workers;
  workers.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i)
    workers.push_back(std::make_unique<Worker>([&, i](Worker&) {
      ready.fetch_add(1);
      go.pass();
      body(i);
    }));
  wait_until([&] { return ready.load() == threads; });
  go.open();
  for (auto& worker : workers) worker->join();
}

// Each of `threads` workers adds 1 to a counter `rounds` times under the mutex, and none is lost.
inline void count_under(pthread_mutex_t* mutex, int threads, int rounds) {
  volatile long counter = 0;
  in_parallel(threads, [&](int) {
    for (int i = 0; i < rounds; ++i) {
      OK(pthread_mutex_lock(mutex));
      counter = counter + 1;
      OK(pthread_mutex_unlock(mutex));
    }
  });
  CHECK_EQ(threads * rounds, counter);
}

// Two threads wait for each other `rounds` times, by a mutex that each acquires by lock().
inline void take_turns(pthread_mutex_t* mutex, pthread_cond_t* cond, int rounds,
                       int (*lock)(pthread_mutex_t*) = pthread_mutex_lock) {
  int turn = 0;
  in_parallel(2, [&](int i) {
    OK(lock(mutex));
    for (int round = 0; round < rounds; ++round) {
      while (turn % 2 != i) OK(pthread_cond_wait(cond, mutex));
      ++turn;
      OK(round % 2 == 0 ? pthread_cond_signal(cond) : pthread_cond_broadcast(cond));
    }
    OK(pthread_mutex_unlock(mutex));
  });
  CHECK_EQ(2 * rounds, turn);
}

// In each of `threads` workers, calls body(number of the worker, its Random) for `ms` milliseconds.
// Returns how many of the calls returned true.
template <class Body>
long count_in_parallel(int threads, std::int64_t ms, Body body) {
  std::atomic<long> count{0};
  const Budget budget{ms};
  in_parallel(threads, [&](int i) {
    Random random{static_cast<std::uint64_t>(i) + 1};
    long counted = 0;
    do {
      counted += body(i, random) ? 1 : 0;
    } while (!budget.spent());
    count += counted;
  });
  return count.load();
}

// A barrier of busy threads, made of atomics only, to be independent of the code under test.
class SpinBarrier {
 public:
  explicit SpinBarrier(int threads) : threads_{threads} {}
  void arrive_and_wait() {
    const int round = round_.load();
    if (arrived_.fetch_add(1) + 1 == threads_) {
      arrived_.store(0);
      round_.store(round + 1);
    } else {
      // The others mostly arrive at once. Later a sleep costs less than a yield, which on a busy
      // machine takes time slices.
      const std::int64_t end_of_yields = nanoseconds(CLOCK_MONOTONIC) + 100'000;
      while (round_.load() == round) {
        if (nanoseconds(CLOCK_MONOTONIC) < end_of_yields) {
          sched_yield();
        } else {
          sleep_us(50);
        }
      }
    }
  }

 private:
  int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<int> round_{0};
};

// Confines the calling thread and those that it starts to `cpus` of its CPUs during its lifetime.
class Confined {
 public:
  explicit Confined(int cpus) {
    CHECK(sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t few;
    CPU_ZERO(&few);
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&few) < cpus; ++cpu)
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &few);
    CHECK(sched_setaffinity(0, sizeof few, &few) == 0);
  }
  Confined(const Confined&) = delete;
  Confined& operator=(const Confined&) = delete;
  ~Confined() { CHECK(sched_setaffinity(0, sizeof before_, &before_) == 0); }

 private:
  cpu_set_t before_{};
};

inline constexpr int all_types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                                    PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};

inline const char* type_name(int type) {
  switch (type) {
    case PTHREAD_MUTEX_RECURSIVE:
      return "recursive";
    case PTHREAD_MUTEX_ERRORCHECK:
      return "errorcheck";
    case PTHREAD_MUTEX_ADAPTIVE_NP:
      return "adaptive";
    default:
      return "normal";
  }
}

// Initializes a mutex. `set` changes further attributes.
template <class Set>
void init_mutex(pthread_mutex_t* mutex, int type, Set set) {
  pthread_mutexattr_t attributes;
  OK(pthread_mutexattr_init(&attributes));
  OK(pthread_mutexattr_settype(&attributes, type));
  set(&attributes);
  OK(pthread_mutex_init(mutex, &attributes));
  OK(pthread_mutexattr_destroy(&attributes));
}

inline void init_mutex(pthread_mutex_t* mutex, int type) {
  init_mutex(mutex, type, [](pthread_mutexattr_t*) {});
}

// A mutex of a type, destroyed at the end.
class Mutex {
 public:
  template <class... Set>
  explicit Mutex(int type, Set... set) {
    init_mutex(&object_, type, set...);
  }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  ~Mutex() { OK(pthread_mutex_destroy(&object_)); }
  operator pthread_mutex_t*() { return &object_; }

 private:
  pthread_mutex_t object_;
};

inline void init_cond(pthread_cond_t* cond, clockid_t clock) {
  pthread_condattr_t attributes;
  OK(pthread_condattr_init(&attributes));
  OK(pthread_condattr_setclock(&attributes, clock));
  OK(pthread_cond_init(cond, &attributes));
  OK(pthread_condattr_destroy(&attributes));
}

// Returns true if no thread holds the mutex: another thread can acquire and release it.
inline bool is_free(pthread_mutex_t* mutex) {
  const int result = in_thread([mutex] {
    const int tried = pthread_mutex_trylock(mutex);
    if (tried == 0) OK(pthread_mutex_unlock(mutex));
    return tried;
  });
  CHECK(result == 0 || result == EBUSY);
  return result == 0;
}

// Returns the bytes of anonymous memory that this process has touched, from the page tables: the
// counters in statm are approximate.
inline long anonymous_bytes() {
  std::FILE* file = std::fopen("/proc/self/smaps_rollup", "re");
  CHECK(file != nullptr);
  char line[256];
  long kib = -1;
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, "Anonymous: %ld kB", &kib) == 1) break;
  std::fclose(file);
  CHECK(kib >= 0);
  return kib * 1'024;
}

}  // namespace check
