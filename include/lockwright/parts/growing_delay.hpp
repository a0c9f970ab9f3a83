// Exponential backoff: delays that double from one to the next, up to a bound.
#pragma once

#include <cstdint>

namespace lockwright {

/// The delays of one wait, in iterations of Env::delay(), or their bounds where they are random.
class growing_delay {
 public:
  growing_delay(std::uint64_t shortest, std::uint64_t longest)
      : length_{shortest}, longest_{longest} {}

  /// The length of this delay; the next one is twice as long.
  std::uint32_t next() {
    const std::uint64_t length = length_ < longest_ ? length_ : longest_;
    length_ = 2 * length;
    return static_cast<std::uint32_t>(length);
  }

 private:
  std::uint64_t length_;
  std::uint64_t longest_;
};

}  // namespace lockwright
