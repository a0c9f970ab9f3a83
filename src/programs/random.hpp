// Random numbers that are the same on every compiler.
#pragma once

#include <cstdint>

namespace lockwright::programs {

// xorshift64* (Vigna, 2016): no state is shared, and a number takes some cycles only.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) : state_{(seed + 1) * 0x9e37'79b9'7f4a'7c15u} {
    state_ = state_ == 0 ? 1 : state_;
  }

  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545'f491'4f6c'dd1du;
  }

  // 0 to n - 1, uniform as long as n is far below 2^32; 0 where n is 0.
  std::uint64_t below(std::uint64_t n) { return ((next() >> 32) * n) >> 32; }

  // True with probability `share`.
  bool chance(double share) {
    constexpr double whole = 18446744073709551616.0;
    return static_cast<double>(next()) < share * whole;
  }

  // `length`, up to so many thousandths more or less.
  std::uint64_t around(std::uint64_t length, std::uint64_t thousandths) {
    if (thousandths == 0) {
      return length;
    }
    const std::uint64_t spread = length / 1000 * thousandths + length % 1000 * thousandths / 1000;
    return length - spread + below(2 * spread + 1);
  }

 private:
  std::uint64_t state_;
};

}  // namespace lockwright::programs
