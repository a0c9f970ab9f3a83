// Common code of the programs: threads for a limited time, and work measured in processor time, which
// takes longer if the thread is preempted.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <chrono>
#include <cstdint>
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

// Executes dependent steps; one takes about a nanosecond.
inline void compute(std::uint64_t steps) {
  std::uint64_t value = steps;
  for (std::uint64_t i = 0; i < steps; ++i) {
    value = value * 3 + i;
    asm volatile("" : "+r"(value));
  }
}

// Sleeps as for input or output.
inline void wait_for_device(std::uint64_t microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds{microseconds});
}

// A clock that runs for a given time.
class clock {
 public:
  explicit clock(std::chrono::milliseconds time) : end_{std::chrono::steady_clock::now() + time} {}

  bool runs() const { return std::chrono::steady_clock::now() < end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

// Calls job(number) in each of `threads` threads, and joins them.
template <class Job>
void in_threads(unsigned threads, Job job) {
  std::vector<std::thread> all;
  for (unsigned number = 0; number < threads; ++number) all.emplace_back(job, number);
  for (auto& each : all) each.join();
}

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
