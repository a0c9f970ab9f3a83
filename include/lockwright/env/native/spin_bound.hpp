// How long a spin-then-park waiter polls before it sleeps.
#pragma once

#include <stdlib.h>

#include <atomic>
#include <cstdint>

#include "lockwright/env/native/fatal.hpp"

namespace lockwright::native_env {

/// Nanoseconds: the round trip of a sleep and a wake, the bound that keeps the
/// cost within twice the optimum (Karlin et al., SOSP 1991). `lockwright bench
/// park` measures it; LOCKWRIGHT_SPIN_NS sets it.
inline constexpr std::uint64_t default_spin_bound = 10'000;

inline constinit std::atomic<std::uint64_t> known_spin_bound{0};

[[gnu::noinline]] inline std::uint64_t read_spin_bound() {
  std::uint64_t bound = default_spin_bound;
  const char* text = getenv("LOCKWRIGHT_SPIN_NS");
  if (text != nullptr && *text != '\0') {
    std::uint64_t value = 0;
    const char* at = text;
    while (*at >= '0' && *at <= '9' && value < std::uint64_t{1} << 50) {
      value = value * 10 + static_cast<std::uint64_t>(*at++ - '0');
    }
    if (*at == '\0') {
      bound = value;
    } else {
      complain("LOCKWRIGHT_SPIN_NS='", text,
               "' is not a number of nanoseconds; the default is used");
    }
  }
  known_spin_bound.store(bound + 1, std::memory_order_relaxed);
  return bound;
}

inline std::uint64_t spin_bound() {
  std::uint64_t known = known_spin_bound.load(std::memory_order_relaxed);
  return known != 0 ? known - 1 : read_spin_bound();
}

}  // namespace lockwright::native_env
