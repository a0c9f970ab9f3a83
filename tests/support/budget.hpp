// The time limit of a stress loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>

namespace check {

// Bounds the work; nothing is asserted about it. Of the limit as many per cent count as
// LOCKWRIGHT_TEST_BUDGET says, all if it is not set.
class Budget {
 public:
  explicit Budget(std::chrono::milliseconds limit)
      : end_{std::chrono::steady_clock::now() + limit * percent() / 100} {}
  explicit Budget(std::int64_t ms) : Budget(std::chrono::milliseconds{ms}) {}
  [[nodiscard]] bool spent() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  static int percent() {
    const char* given = std::getenv("LOCKWRIGHT_TEST_BUDGET");
    return given != nullptr ? std::atoi(given) : 100;
  }

  std::chrono::steady_clock::time_point end_;
};

}  // namespace check
