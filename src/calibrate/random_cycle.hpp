// Random orders of places, and the links of a chase.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "../programs/random.hpp"

namespace bench {

using lockwright::programs::random_source;

// The numbers below `count`, which is at least 1, in a random order.
inline std::vector<std::uint64_t> random_order(std::size_t count, random_source& random) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = count - 1; i > 0; --i) {
    std::swap(order[i], order[random.below(i + 1)]);
  }
  return order;
}

// For each of `count` places the next one, so that a chase visits all of them in a random order.
inline std::vector<std::uint64_t> random_cycle(std::size_t count, std::uint64_t seed) {
  random_source random(seed);
  const std::vector<std::uint64_t> order = random_order(count, random);
  std::vector<std::uint64_t> next(count);
  for (std::size_t i = 0; i < count; ++i) {
    next[order[i]] = order[(i + 1) % count];
  }
  return next;
}

}  // namespace bench
