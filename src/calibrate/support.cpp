#include <dlfcn.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "support.hpp"

namespace bench {

void must(int result, const char* call) {
  if (result != 0) {
    fail(std::string(call) + " failed: " + std::strerror(result));
  }
}

result::result(std::string_view workload, std::string_view kind) {
  field("workload", workload);
  field("kind", kind);
}

static std::string origin_of(const char* name) {
  Dl_info info;
  void* address = dlsym(RTLD_DEFAULT, name);
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return "unknown";
  }
  return info.dli_fname;
}

void add_origin(result& line) {
  line.field("mutex", origin_of("pthread_mutex_lock"));
  line.field("cond", origin_of("pthread_cond_wait"));
}

std::uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

void sleep_ns(std::uint64_t ns) {
  timespec left{static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

void sleep_until(std::uint64_t ns) {
  const timespec when{static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) == EINTR) {
  }
}

switches switches_so_far() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  return {u.ru_nvcsw, u.ru_nivcsw};
}

double calibrate_loops_per_us() {
  constexpr std::uint64_t loops = 20000;
  constexpr int trials = 200;
  std::uint64_t best = UINT64_MAX;
  for (int i = 0; i < trials; ++i) {
    const std::uint64_t start = now_ns();
    spin_loops(loops);
    best = std::min(best, now_ns() - start);
  }
  return static_cast<double>(loops) * 1000.0 /
         static_cast<double>(std::max<std::uint64_t>(best, 1));
}

work_scale::work_scale(double loops_per_us)
    : loops_per_us_(loops_per_us > 0 ? loops_per_us : calibrate_loops_per_us()) {}

std::uint64_t work_scale::loops(double ns) const {
  return static_cast<std::uint64_t>(std::llround(ns * loops_per_us_ / 1000.0));
}

double processor_seconds_so_far() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

int futex_wake(std::atomic<std::uint32_t>& word, int how_many) {
  return static_cast<int>(
      syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, how_many, nullptr, nullptr, 0));
}

void gate::pass() {
  arrived_.fetch_add(1);
  futex_wake(arrived_, 1);
  while (open_.load() == 0) {
    futex_wait(open_, 0);
  }
}

void gate::await(std::uint32_t threads) {
  for (std::uint32_t seen = arrived_.load(); seen < threads; seen = arrived_.load()) {
    futex_wait(arrived_, seen);
  }
}

void gate::open() {
  open_.store(1);
  futex_wake(open_, INT_MAX);
}

other_thread::other_thread(std::int64_t cpu, std::function<void()> body)
    : cpu_{cpu}, body_{std::move(body)} {
  must(pthread_create(&thread_, nullptr, run, this), "pthread_create");
  start_.await(1);
}

void* other_thread::run(void* at) {
  auto& self = *static_cast<other_thread*>(at);
  pin_to(self.cpu_);
  self.start_.pass();
  self.body_();
  return nullptr;
}

void other_thread::join() { must(pthread_join(thread_, nullptr), "pthread_join"); }

void pin_to(std::int64_t cpu) {
  if (cpu < 0) {
    return;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    fail("cannot run on CPU " + std::to_string(cpu) + "; choose one this process may use");
  }
}

const std::vector<std::int64_t>& allowed_processors() {
  static const std::vector<std::int64_t> found = [] {
    std::vector<std::int64_t> some;
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    for (std::int64_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) {
        some.push_back(cpu);
      }
    }
    return some;
  }();
  return found;
}

}  // namespace bench
