// Random numbers, from one generator per thread.
#pragma once

#include <cstdint>

#include "lockwright/env/native/thread.hpp"

namespace lockwright::native_env {

inline constinit thread_local std::uint32_t random_state = 0;

/// Xor-shift with the shifts 6, 21, 7 (G. Marsaglia, "Xorshift RNGs", Journal of
/// Statistical Software 8(14), 2003); its period is 2^32 - 1, and it is never 0.
inline std::uint32_t random_number() {
  std::uint32_t x = random_state;
  if (x == 0) [[unlikely]] {
    // An odd factor separates threads with consecutive numbers (Knuth, TAOCP 6.4).
    x = serial() * 2654435761u;
  }
  x ^= x << 6;
  x ^= x >> 21;
  x ^= x << 7;
  random_state = x;
  return x;
}

/// Returns a number from 0 to limit - 1.
inline std::uint32_t random_below(std::uint32_t limit) {
  return static_cast<std::uint32_t>(std::uint64_t{random_number()} * limit >> 32);
}

}  // namespace lockwright::native_env
