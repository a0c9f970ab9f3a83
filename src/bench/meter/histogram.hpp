// How often each value was seen, in a memory that does not grow with their number.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

// Log-linear, as an HDR histogram (Tene, hdrhistogram.org): each power of two is cut into 128 equal
// buckets. A value below 256 has a bucket of its own; of a larger one, what is read back is above
// it by less than 1/128 (0.8 %) and never below it. Count, sum and greatest value are exact.
class histogram {
 public:
  histogram() : counts_(buckets) {}

  void add(std::uint64_t value) {
    ++counts_[index_of(value)];
    ++count_;
    sum_ += static_cast<double>(value);
    max_ = std::max(max_, value);
  }

  void add(const histogram& other) {
    for (std::size_t i = 0; i < buckets; ++i) {
      counts_[i] += other.counts_[i];
    }
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }
  [[nodiscard]] double mean() const {
    return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_);
  }

  // The least value that at least this share of the values does not exceed (the nearest rank), with
  // the precision above. 0 where nothing was added.
  [[nodiscard]] std::uint64_t at(double share) const {
    // 0.95 * 20 is a little more than 19 in floating point.
    const double wanted = share * static_cast<double>(count_) - 1e-9;
    std::uint64_t passed = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
      passed += counts_[i];
      if (passed != 0 && static_cast<double>(passed) >= wanted) {
        return std::min(top_of(i), max_);
      }
    }
    return max_;
  }

 private:
  static constexpr unsigned fine = 7;
  static constexpr std::uint64_t exact = 2u << fine;
  static constexpr std::size_t buckets = ((64 - fine - 1) << fine) + exact;

  static std::size_t index_of(std::uint64_t value) {
    if (value < exact) {
      return value;
    }
    const auto coarse = static_cast<unsigned>(std::bit_width(value)) - fine - 1;
    return (static_cast<std::size_t>(coarse) << fine) + (value >> coarse);
  }

  static std::uint64_t top_of(std::size_t index) {
    if (index < exact) {
      return index;
    }
    const std::size_t coarse = (index >> fine) - 1;
    return ((index - (coarse << fine) + 1) << coarse) - 1;
  }

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace bench
