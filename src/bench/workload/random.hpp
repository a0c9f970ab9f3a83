// Random numbers of one thread.
#pragma once

#include <cstdint>

namespace bench {

// xorshift64* (Vigna, 2016): no state is shared, and a number takes some cycles only.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) : state_{(seed + 1) * 0x9e3779b97f4a7c15u} {}

  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }

  // 0 to n - 1, uniform as long as n is far below 2^32; 0 where n is 0.
  std::uint64_t below(std::uint64_t n) { return ((next() >> 32) * n) >> 32; }

  // True with probability `share`.
  bool chance(double share) {
    constexpr double whole = 18446744073709551616.0;
    return static_cast<double>(next()) < share * whole;
  }

 private:
  std::uint64_t state_;
};

}  // namespace bench
