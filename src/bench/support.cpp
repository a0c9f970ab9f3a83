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

#include "bench.hpp"

namespace bench {

void refuse(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
  std::exit(2);
}

void fail(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
  // Not exit: other threads may be inside the lock under test.
  std::_Exit(1);
}

void must(int result, const char* call) {
  if (result != 0) {
    fail(std::string(call) + " failed: " + std::strerror(result));
  }
}

options::options(int argc, char** argv, const std::vector<known>& list) {
  for (const known& k : list) {
    entries_.push_back({k.name, k.initial});
  }
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--help") {
      for (const entry& e : entries_) {
        std::printf("  --%s %.15g\n", e.name.c_str(), e.value);
      }
      std::exit(0);
    }
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const entry& e) {
      return word.size() > 2 && word.substr(0, 2) == "--" && word.substr(2) == e.name;
    });
    if (found == entries_.end()) {
      refuse("unknown option '" + std::string(word) + "'; see lockwright-bench WORKLOAD --help");
    }
    if (i + 1 == argc) {
      refuse("option '" + std::string(word) + "' has no value; give it a number");
    }
    char* end = nullptr;
    const char* text = argv[++i];
    const double value = std::strtod(text, &end);
    if (end == text || *end != '\0' || !std::isfinite(value)) {
      refuse("option '" + std::string(word) + "' has the value '" + text + "'; give it a number");
    }
    found->value = value;
  }
}

double options::real(std::string_view name) const {
  for (const entry& e : entries_) {
    if (e.name == name) {
      return e.value;
    }
  }
  fail("option '" + std::string(name) + "' was not declared");
}

std::uint64_t options::count(std::string_view name, std::uint64_t least) const {
  const double value = real(name);
  if (value < static_cast<double>(least) || value > 1e15 || value != std::floor(value)) {
    refuse("option '--" + std::string(name) + "' is out of range; give it a whole number of " +
           std::to_string(least) + " or more");
  }
  return static_cast<std::uint64_t>(value);
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

void gate::close() {
  arrived_.store(0);
  open_.store(0);
}

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

}  // namespace bench
