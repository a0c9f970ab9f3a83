// The order in which threads were admitted to a section: how many threads circulate, and how soon
// each is admitted again (Dice, "Malthusian Locks", EuroSys 2017, section 6).
//
// The order itself is not stored. The n-th admission gets its ordinal number n under the lock, and
// each thread accounts for its own, so the memory is the same however long a run is.
#pragma once

#include <cstdint>
#include <optional>

#include "histogram.hpp"

namespace bench {

// The admissions of one thread.
class admission_record {
 public:
  explicit admission_record(std::uint64_t window) : window_{window} {}

  // ordinal: how many admissions, of any thread, came before; larger each time.
  void admitted(std::uint64_t ordinal) {
    if (any_) {
      between_.add(ordinal - last_ - 1);
    }
    if (!any_ || ordinal / window_ != last_ / window_) {
      ++windows_;
    }
    last_ = ordinal;
    any_ = true;
  }

 private:
  friend class admission_history;
  std::uint64_t window_;
  bool any_ = false;
  std::uint64_t last_ = 0;
  std::uint64_t windows_ = 0;  // in which the thread was admitted
  histogram between_;
};

// The admissions of all threads.
class admission_history {
 public:
  // admissions: how many there were in all.
  admission_history(std::uint64_t admissions, std::uint64_t window)
      : whole_{admissions / window}, window_{window} {}

  void add(const admission_record& one) {
    // The last window counts only if it is whole.
    const bool in_part = one.any_ && one.last_ / window_ == whole_;
    distinct_ += one.windows_ - (in_part ? 1 : 0);
    between_.add(one.between_);
  }

  [[nodiscard]] std::uint64_t windows() const { return whole_; }

  // Average lock working set size: how many different threads were admitted within `window`
  // admissions, on average over the disjoint whole windows. None where there was no whole one.
  [[nodiscard]] std::optional<double> average_lwss() const {
    if (whole_ == 0) {
      return std::nullopt;
    }
    return static_cast<double>(distinct_) / static_cast<double>(whole_);
  }

  // Median time to reacquire: the median, over admissions, of the number of admissions between it
  // and the same thread's one before. None where no thread was admitted twice.
  [[nodiscard]] std::optional<std::uint64_t> mttr() const {
    if (between_.count() == 0) {
      return std::nullopt;
    }
    return between_.at(0.5);
  }

 private:
  std::uint64_t whole_;
  std::uint64_t window_;
  std::uint64_t distinct_ = 0;
  histogram between_;
};

}  // namespace bench
