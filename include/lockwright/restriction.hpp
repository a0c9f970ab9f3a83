// What the concurrency-restricting locks have in common.
#pragma once

#include <cstdint>

#include "lockwright/tunable.hpp"

namespace lockwright {

/// How often the waiters that do not circulate get a chance.
inline constexpr tunable fairness{
    .name = "fairness",
    .initially = 1000,
    .in = unit::one_in,
    .least = 0,
    .most = std::uint64_t{1} << 31,
    .checked = 2,
    .meaning = "how often an unlock lets the thread come next that has waited longest",
    .source = "Dice, EuroSys 2017"};

}  // namespace lockwright
