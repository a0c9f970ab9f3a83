// Data that threads read all over, against caches that it may not fit into: sets of bytes, not lines.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "machine.hpp"

namespace lockwright::simulate {

/// A set is in use in a cache until its thread comes back to it: of sets that are read at random,
/// those that were read since the last time, this one among them, share the cache evenly.
class working_sets {
 public:
  struct kind {
    std::uint64_t capacity;  ///< bytes of a cache
    picoseconds hit;
    picoseconds miss;
    std::uint32_t caches;
    std::function<std::uint32_t(std::uint32_t core)> cache_of;
  };
  static kind last_level(const machine& m);
  static kind translations(const machine& m);

  working_sets(kind of, std::uint64_t& misses)
      : of_{std::move(of)}, misses_{misses}, recent_(of_.caches) {}

  /// A new set of so many bytes; its number.
  std::uint32_t add(std::uint64_t bytes);

  /// What it takes a core to read so many places of the set.
  picoseconds read(std::uint32_t set, std::uint64_t reads, std::uint32_t core);

 private:
  kind of_;
  std::uint64_t& misses_;
  std::vector<std::uint64_t> bytes_;
  std::vector<std::vector<std::uint32_t>> recent_;  ///< of each cache, the last used set last
};

}  // namespace lockwright::simulate
