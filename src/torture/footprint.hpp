// How much memory the process takes.
#pragma once

#include <cstdint>

namespace torture {

struct footprint {
  std::uint64_t bytes = 0;     // in memory or swapped out
  std::uint64_t mappings = 0;  // ranges of addresses
};

footprint measure_footprint();

}  // namespace torture
