// Watches that every thread makes progress.
#pragma once

#include <cstdint>
#include <vector>

#include "phase_run.hpp"

namespace torture {

// A thread fails the run that
// - stays in one operation longer than the patience; while it waits for a mutex, only if no thread
//   has acquired that mutex for as long, or after three times the patience,
// - has waited for a second while so many threads acquired the mutex that even a deliberately
//   unfair lock would have admitted it.
class watch {
 public:
  explicit watch(const phase_run& on);
  void look();

 private:
  struct wait {
    std::uint64_t since = 0;
    std::uint64_t entries = 0;  // of its mutex, when the wait was first seen
  };
  struct traffic {
    std::uint64_t entries = 0;
    std::uint64_t changed = 0;  // the tick
  };

  void judge(const worker& watched, activity what, const wait& seen) const;

  const phase_run& on_;
  std::vector<wait> waits_;
  std::vector<traffic> traffic_;
};

}  // namespace torture
