#include "working_sets.hpp"

#include <cstddef>

namespace lockwright::simulate {

std::uint32_t working_sets::add(std::uint64_t bytes) {
  bytes_.push_back(bytes);
  return static_cast<std::uint32_t>(bytes_.size() - 1);
}

picoseconds working_sets::read(std::uint32_t set, std::uint64_t reads, std::uint32_t core) {
  recent_.resize(machine_.caches());
  const place& here = machine_.of_core(core);
  std::vector<std::uint32_t>& recent =
      recent_[machine_.all.data_by_node != 0 ? here.node : here.cache];
  std::uint64_t in_use = bytes_[set];
  std::size_t at = recent.size();
  while (at != 0 && recent[at - 1] != set) {
    --at;
    in_use += bytes_[recent[at]];
  }
  const bool known = at != 0;
  if (known) {
    recent.erase(recent.begin() + static_cast<std::ptrdiff_t>(at - 1));
  }
  recent.push_back(set);
  const figures& f = machine_.all;
  std::uint64_t hits = 0;
  if (known) {
    hits = in_use <= f.cache_bytes ? reads : reads * f.cache_bytes / in_use;
  }
  counts_.data_misses += reads - hits;
  return hits * f.cache_read +
         (reads - hits) * f.memory[static_cast<std::size_t>(distance::node)];
}

}  // namespace lockwright::simulate
