// Common to all measurements: result lines, clocks, busy work and gates.
//
// Nothing here calls a pthread mutex or condition variable: those are measured, and each
// workload calls them itself, by name, so that a preload library replaces them.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "../programs/json_line.hpp"
#include "../programs/random.hpp"
#include "../programs/settings.hpp"

namespace bench {

using lockwright::programs::fail;
using lockwright::programs::parameter;
using lockwright::programs::random_source;
using lockwright::programs::refuse;

// The alignment that keeps data of different threads on different cache lines: 64 bytes is the line
// of every x86-64 and of most arm64 processors, and their prefetchers fetch adjacent lines in pairs.
inline constexpr std::size_t cache_line_pair = 128;

// Ends the program when a pthread call returned an error: a benchmark that continues after one
// would measure something else.
void must(int result, const char* call);

class result : public lockwright::programs::json_line {
 public:
  result(std::string_view workload, std::string_view kind);
};

// The file that `pthread_mutex_lock` and `pthread_cond_wait` resolve to in this process, as
// "mutex" and "cond" fields: they show which lock was tested.
void add_origin(result& line);

// CLOCK_MONOTONIC in nanoseconds.
std::uint64_t now_ns();
void sleep_ns(std::uint64_t ns);
void sleep_until(std::uint64_t ns);

// The clock that is cheapest to read, in its own ticks: its rate is constant and the same on all
// processors. Reading now_ns() beside it gives the length of a tick.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return now_ns();
#endif
}

// Context switches of the whole process so far (getrusage, all threads).
struct switches {
  std::int64_t voluntary;
  std::int64_t involuntary;
};
switches switches_so_far();

// Processor time that all threads of the process have used so far, user and system.
double processor_seconds_so_far();

// As `ticks`, read only after all earlier instructions have completed.
inline std::uint64_t ticks_after_previous() {
#if defined(__x86_64__)
  asm volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
  return ticks();
}

// Work that takes processor time and touches no memory: a chain of dependent multiplications that
// starts from `x`.
inline std::uint64_t spin_chain(std::uint64_t x, std::uint64_t loops) {
  for (std::uint64_t i = 0; i < loops; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(x));
  }
  return x;
}
inline void spin_loops(std::uint64_t loops) { spin_chain(loops, loops); }

// Processor cycles of one loop of `spin_loops`: a 64-bit multiplication takes three, an addition
// one, and each waits for the one before (Intel since 2008,
// AMD since 2017; within one cycle on the arm64 servers).
inline constexpr std::uint64_t cycles_per_loop = 4;

// Loops of `spin_loops` per microsecond on this processor: the fastest of many short trials,
// since disturbances only slow a trial down.
double calibrate_loops_per_us();

// Loops for `ns`, from `--loops-per-us` where the caller gave it (so that all the processes of a
// comparison do the very same work) and from a calibration otherwise.
class work_scale {
 public:
  explicit work_scale(double loops_per_us);
  [[nodiscard]] std::uint64_t loops(double ns) const;
  [[nodiscard]] double loops_per_us() const { return loops_per_us_; }

 private:
  double loops_per_us_;
};

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected);
// Returns how many were woken.
int futex_wake(std::atomic<std::uint32_t>& word, int how_many);

// A barrier that releases all threads at once, without any pthread object.
class gate {
 public:
  // In a worker: report in and sleep until the gate opens.
  void pass();
  // In the main thread: sleep until `threads` have reported in.
  void await(std::uint32_t threads);
  void open();

 private:
  alignas(cache_line_pair) std::atomic<std::uint32_t> arrived_{0};
  alignas(cache_line_pair) std::atomic<std::uint32_t> open_{0};
};

// A thread beside the calling one, which begins when it is started.
class other_thread {
 public:
  // Returns when the thread is there. cpu: where it runs; negative for anywhere.
  other_thread(std::int64_t cpu, std::function<void()> body);
  other_thread(const other_thread&) = delete;
  other_thread& operator=(const other_thread&) = delete;
  void start() { start_.open(); }
  void join();

 private:
  static void* run(void* at);

  std::int64_t cpu_;
  std::function<void()> body_;
  gate start_;
  pthread_t thread_{};
};

// Sets this thread's affinity to one CPU; a negative number leaves it free.
void pin_to(std::int64_t cpu);
// The CPUs that this process could use when it first asked.
const std::vector<std::int64_t>& allowed_processors();

}  // namespace bench
