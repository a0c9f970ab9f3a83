// Measures the waits of contended acquisitions if LOCKWRIGHT_METRICS is set. An uncontended
// acquisition is not counted: on the fast path nothing is added.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/env/native.hpp"
#include "preload/metrics_page.hpp"

namespace lockwright::preload {

/// The segment of this process; null if there is none.
inline constinit std::atomic<metrics_page*> metrics{nullptr};

inline bool measures_waits() { return metrics.load(std::memory_order_relaxed) != nullptr; }

/// Makes the segment if LOCKWRIGHT_METRICS is set and not empty.
void begin_metrics();

/// Replaces the segment inherited from the parent by an empty one; called in the child of a fork.
void renew_metrics();

void add_wait(std::uint64_t caller, std::uint64_t ns);

/// Measures from its construction to its destruction. caller: return address of the lock function;
/// 0 to measure nothing.
class measured_wait {
 public:
  explicit measured_wait(std::uint64_t caller)
      : caller_(caller), begin_(caller != 0 && measures_waits() ? native::now() : 0) {}
  ~measured_wait() {
    if (begin_ != 0) [[unlikely]] {
      add_wait(caller_, native::now() - begin_);
    }
  }
  measured_wait(const measured_wait&) = delete;
  measured_wait& operator=(const measured_wait&) = delete;

 private:
  std::uint64_t caller_;
  std::uint64_t begin_;
};

}  // namespace lockwright::preload
