// A histogram of durations: eight buckets for each power of two.
#pragma once

#include <bit>
#include <cstdint>

#include "interpose/layout.hpp"

namespace lockwright::probe {

struct histogram {
  static constexpr unsigned parts = 8;
  static constexpr unsigned octaves = 34;  ///< above the first sixteen ticks
  static constexpr unsigned buckets = parts * (1 + octaves);

  std::uint64_t weights[buckets];

  static unsigned bucket_of(std::uint64_t ticks) {
    if (ticks < 2 * parts) {
      return static_cast<unsigned>(ticks / 2);
    }
    const auto octave = static_cast<unsigned>(std::bit_width(ticks)) - 5;  // 0 from 16 ticks on
    const auto part = static_cast<unsigned>(ticks >> (octave + 1)) & (parts - 1);
    const unsigned bucket = parts * (1 + octave) + part;
    return bucket < buckets ? bucket : buckets - 1;
  }

  void add(std::uint64_t ticks, std::uint64_t weight) { weights[bucket_of(ticks)] += weight; }

  /// The same while other threads may add.
  void add_shared(std::uint64_t ticks, std::uint64_t weight) {
    __atomic_fetch_add(&weights[bucket_of(ticks)], weight, __ATOMIC_RELAXED);
  }
};

}  // namespace lockwright::probe

/// In the layout of a file a histogram is an array.
template <>
struct lockwright::interpose::plain<lockwright::probe::histogram> {
  using type = std::uint64_t;
};
