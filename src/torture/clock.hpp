// Clocks, sleeping and busy waiting without any pthread object.
#pragma once

#include <time.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace torture {

inline constexpr std::uint64_t us = 1'000;
inline constexpr std::uint64_t ms = 1'000'000;

inline std::uint64_t nanoseconds(const timespec& t) {
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

inline timespec at(std::uint64_t ns) {
  return {static_cast<time_t>(ns / 1'000'000'000u), static_cast<long>(ns % 1'000'000'000u)};
}

inline std::uint64_t now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec t{};
  clock_gettime(clock, &t);
  return nanoseconds(t);
}

// Sleeps for this time, also if signals arrive.
void sleep_ns(std::uint64_t ns);

// Stays on the processor for this time.
void busy(std::uint64_t ns);

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected);
void futex_wake(std::atomic<std::uint32_t>& word, int how_many = INT_MAX);

}  // namespace torture
