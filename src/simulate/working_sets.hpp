// Data that threads read all over, against the last-level caches: sets of bytes, not lines.
#pragma once

#include <cstdint>
#include <vector>

#include "counts.hpp"
#include "machine.hpp"

namespace lockwright::simulate {

/// A set is in use in a cache until its thread comes back to it: of sets that are read at random,
/// those that were read since the last time, this one among them, share the cache evenly.
class working_sets {
 public:
  explicit working_sets(const machine& m, counts& c) : machine_{m}, counts_{c} {}

  /// A new set of so many bytes; its number.
  std::uint32_t add(std::uint64_t bytes);

  /// What it takes a core to read so many words of the set, each on a line of its own.
  picoseconds read(std::uint32_t set, std::uint64_t reads, std::uint32_t core);

 private:
  const machine& machine_;
  counts& counts_;
  std::vector<std::uint64_t> bytes_;
  std::vector<std::vector<std::uint32_t>> recent_;  ///< of each cache, the last used set last
};

}  // namespace lockwright::simulate
