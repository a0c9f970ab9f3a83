// Two threads, of which one sleeps by futex and the other wakes it after a while.
#pragma once

#include <cstdint>

namespace bench {

struct wake_request {
  std::uint64_t count;
  double seconds;          // ends the measurement early
  std::uint64_t delay_ns;  // from when the sleeper is about to sleep to the wake call
  std::int64_t sleeper_cpu = -1;
  std::int64_t waker_cpu = -1;
};

// Medians, in nanoseconds.
struct wake_times {
  std::uint64_t count;
  double sleep;       // from the sleeper's last store to when the waker sees it
  double wake;        // the call that wakes
  double turnaround;  // from that call to the sleeper running again
};

// To be called once in a process.
wake_times measure_wakes(const wake_request& request);

}  // namespace bench
