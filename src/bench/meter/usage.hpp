// Resources that a process has used so far.
#pragma once

#include <cstdint>
#include <optional>

#include "../../programs/json_line.hpp"

namespace bench {

struct usage {
  double user_seconds;
  double system_seconds;
  std::int64_t voluntary;    // context switches because a thread waited
  std::int64_t involuntary;  // because the scheduler preempted it
  std::int64_t minor_faults;
  std::int64_t major_faults;
  // How often the scheduler moved a thread to another processor; none if the kernel does not
  // tell (/proc/self/task/*/sched needs CONFIG_SCHED_DEBUG).
  std::optional<std::int64_t> migrations;

  [[nodiscard]] double processor_seconds() const { return user_seconds + system_seconds; }
};

// Of all threads, except the migrations, which are of living threads only.
usage usage_so_far();

// The difference of two readings.
void add_usage(lockwright::programs::json_line& line, const usage& before, const usage& after);

}  // namespace bench
