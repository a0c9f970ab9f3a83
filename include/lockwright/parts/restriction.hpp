// The tunable of the concurrency-restricting locks.
#pragma once

#include <cstdint>

#include "lockwright/tunable.hpp"

namespace lockwright {

/// The probability that a passive waiter is next.
inline constexpr tunable fairness{
    .name = "fairness",
    .default_value = 1000,
    .counted_in = unit::one_in,
    .min = 0,
    .max = std::uint64_t{1} << 31,
    .model_value = 2,
    .meaning = "how often an unlock hands the lock to the thread that has waited longest",
    .source = "Dice, EuroSys 2017"};

}  // namespace lockwright
