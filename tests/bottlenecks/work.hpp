// Common code of the programs: threads for a limited time, and work measured in processor time, which
// takes longer if the thread is preempted.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <thread>
#include <vector>

namespace work {

// Returns the number of allowed processors, at least two, and at most eight for the same behaviour on
// larger machines.
inline unsigned processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 2;
  const int count = CPU_COUNT(&allowed);
  return count < 2 ? 2 : count > 8 ? 8 : static_cast<unsigned>(count);
}

// An xorshift generator, one for each thread.
class random {
 public:
  explicit random(unsigned thread) : state_{(thread + 1) * 0x9e3779b97f4a7c15u} {}

  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

  // Returns a number from 0 to twice the mean.
  std::uint64_t around(std::uint64_t mean) { return next() % (2 * mean + 1); }

 private:
  std::uint64_t state_;
};

// Executes dependent steps.
inline void step(std::uint64_t steps) {
  std::uint64_t value = steps;
  for (std::uint64_t i = 0; i < steps; ++i) {
    value = value * 3 + i;
    asm volatile("" : "+r"(value));
  }
}

// The rate of this processor: a step takes from a third of a nanosecond to a whole one.
inline double steps_per_nanosecond() {
  constexpr std::uint64_t steps = 20'000;
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    step(steps);
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    best = std::max(best, static_cast<double>(steps) / taken.count());
  }
  return best;
}

inline const double rate = steps_per_nanosecond();

inline void compute(std::uint64_t nanoseconds) {
  step(static_cast<std::uint64_t>(static_cast<double>(nanoseconds) * rate));
}

// Sleeps as for input or output.
inline void wait_for_device(std::uint64_t microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds{microseconds});
}

// A clock that runs for a given time, or for WORK_TIMES times as long.
class clock {
 public:
  explicit clock(std::chrono::milliseconds time)
      : end_{std::chrono::steady_clock::now() + std::chrono::milliseconds{static_cast<std::int64_t>(
                                                    static_cast<double>(time.count()) * times())}} {
  }

  bool runs() const { return std::chrono::steady_clock::now() < end_; }

 private:
  static double times() {
    const char* given = std::getenv("WORK_TIMES");
    return given != nullptr ? std::atof(given) : 1;
  }

  std::chrono::steady_clock::time_point end_;
};

// The changes of the program that its user asks for: options such as `--shards 8`. A program ends
// with status 2 if it is given another one than those that it has.
class changes {
 public:
  changes(int count, char** words, std::initializer_list<const char*> known) {
    for (int i = 1; i + 1 < count; i += 2) given_.push_back({words[i], std::atof(words[i + 1])});
    bool is_known = count % 2 == 1;
    for (const auto& each : given_) {
      bool found = false;
      for (const char* name : known) found = found || std::strcmp(each.name, name) == 0;
      is_known = is_known && found;
    }
    if (!is_known) {
      std::fprintf(stderr, "options, each with a number:");
      for (const char* name : known) std::fprintf(stderr, " %s", name);
      std::fprintf(stderr, "\n");
      std::exit(2);
    }
  }

  double value(const char* name, double initial) const {
    for (const auto& each : given_)
      if (std::strcmp(each.name, name) == 0) return each.number;
    return initial;
  }

  unsigned count(const char* name, unsigned initial) const {
    const double given = value(name, initial);
    return given < 1 ? 1 : static_cast<unsigned>(given);
  }

  bool has(const char* name) const { return value(name, 0) != 0; }

 private:
  struct option {
    const char* name;
    double number;
  };
  std::vector<option> given_;
};

// Counts the operations of all threads, and prints their rate at the end.
class meter {
 public:
  meter() : begin_{std::chrono::steady_clock::now()} {}
  ~meter() {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin_;
    std::printf("rate: %.6g\n", static_cast<double>(total_.load()) / time.count());
  }
  meter(const meter&) = delete;
  meter& operator=(const meter&) = delete;

  void add(std::uint64_t operations) { total_ += operations; }

 private:
  std::chrono::steady_clock::time_point begin_;
  std::atomic<std::uint64_t> total_{0};
};

// Calls job(number) in each of `threads` threads, and joins them.
template <class Job>
void in_threads(unsigned threads, Job job) {
  std::vector<std::thread> all;
  for (unsigned number = 0; number < threads; ++number) all.emplace_back(job, number);
  for (auto& each : all) each.join();
}

// Mutexes in place of one, each on cache lines of its own.
class shards {
 public:
  explicit shards(unsigned count) : count_{count}, all_{new shard[count]} {}

  pthread_mutex_t& any(random& source) {
    return all_[count_ == 1 ? 0 : source.next() % count_].mutex;
  }

 private:
  struct alignas(128) shard {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  };
  unsigned count_;
  std::unique_ptr<shard[]> all_;
};

class guard {
 public:
  explicit guard(pthread_mutex_t& mutex) : mutex_{mutex} { pthread_mutex_lock(&mutex_); }
  ~guard() { pthread_mutex_unlock(&mutex_); }
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace work
