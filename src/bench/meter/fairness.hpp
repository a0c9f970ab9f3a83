// How evenly work is spread over threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

// Gini coefficient: 0 where all values are equal, (n - 1) / n where one of n has everything.
// Half the mean absolute difference of all pairs, over the mean (Gini, 1912).
inline double gini(std::vector<std::uint64_t> values) {
  std::sort(values.begin(), values.end());
  double sum = 0;
  double weighted = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    sum += value;
    weighted += value * static_cast<double>(i + 1);
  }
  if (sum == 0) {
    return 0;
  }
  const auto n = static_cast<double>(values.size());
  return std::max(0.0, 2 * weighted / (n * sum) - (n + 1) / n);
}

// Standard deviation over the mean, of these values and not of a population they stand for; 0 where
// all are equal.
inline double relative_deviation(const std::vector<std::uint64_t>& values) {
  double sum = 0;
  for (const std::uint64_t value : values) {
    sum += static_cast<double>(value);
  }
  if (sum == 0) {
    return 0;
  }
  const auto n = static_cast<double>(values.size());
  const double mean = sum / n;
  double squares = 0;
  for (const std::uint64_t value : values) {
    squares += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
  }
  return std::sqrt(squares / n) / mean;
}

}  // namespace bench
