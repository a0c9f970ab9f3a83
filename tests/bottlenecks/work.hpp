// What the programs share: threads that work for a while, and work that takes processor time rather
// than time, so that it takes longer where the processor is taken away.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace work {

// That this process may use; at most eight, so that a program means the same on a large machine.
inline unsigned processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 2;
  const int found = CPU_COUNT(&allowed);
  return found < 2 ? 2 : found > 8 ? 8 : static_cast<unsigned>(found);
}

// A generator of its own for each thread: xorshift, which needs no memory.
class random {
 public:
  explicit random(unsigned thread) : state_{(thread + 1) * 0x9e3779b97f4a7c15u} {}

  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

  // From 0 to twice the mean.
  std::uint64_t around(std::uint64_t mean) { return next() % (2 * mean + 1); }

 private:
  std::uint64_t state_;
};

// So many steps that depend on each other; one takes about a nanosecond.
inline void compute(std::uint64_t steps) {
  std::uint64_t value = steps;
  for (std::uint64_t i = 0; i < steps; ++i) {
    value = value * 3 + i;
    asm volatile("" : "+r"(value));
  }
}

// Asleep for so many microseconds, as in a call that reads or writes.
inline void wait_for_device(std::uint64_t microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds{microseconds});
}

// True until the time is up.
class clock {
 public:
  explicit clock(std::chrono::milliseconds time) : end_{std::chrono::steady_clock::now() + time} {}

  bool runs() const { return std::chrono::steady_clock::now() < end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

// Calls job(number) in each of `threads` threads and waits for their end.
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
