// Each thread's number of acquisitions, which other threads read during the run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "bench.hpp"

namespace bench {

struct alignas(cache_line_pair) tally {
  std::atomic<std::uint64_t> acquisitions{0};

  // Called by contest.hpp; for tallies that record more than counts.
  void begins_to_wait() {}
  void has_unlocked() {}
};

template <class Tally>
std::vector<std::uint64_t> read_tallies(const Tally* tallies, std::size_t count) {
  std::vector<std::uint64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = tallies[i].acquisitions.load(std::memory_order_relaxed);
  }
  return values;
}

inline std::uint64_t sum(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

}  // namespace bench
