#include "working_sets.hpp"

#include <cstddef>

namespace lockwright::simulate {

working_sets::kind working_sets::last_level(const machine& m) {
  const bool by_node = m.all.data_by_node != 0;
  return {m.all.cache_bytes, m.all.cache_read, m.all.cache_miss, by_node ? m.nodes() : m.caches(),
          [&m, by_node](std::uint32_t core) {
            const place& here = m.of_core(core);
            return by_node ? here.node : here.cache;
          }};
}

working_sets::kind working_sets::translations(const machine& m) {
  constexpr std::uint64_t page_bytes = 4096;
  return {m.all.tlb_pages * page_bytes, 0, m.all.tlb_miss, m.cores(),
          [](std::uint32_t core) { return core; }};
}

std::uint32_t working_sets::add(std::uint64_t bytes) {
  bytes_.push_back(bytes);
  return static_cast<std::uint32_t>(bytes_.size() - 1);
}

picoseconds working_sets::read(std::uint32_t set, std::uint64_t reads, std::uint32_t core) {
  std::vector<std::uint32_t>& recent = recent_[of_.cache_of(core)];
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
  std::uint64_t hits = 0;
  if (known) {
    hits = in_use <= of_.capacity ? reads : reads * of_.capacity / in_use;
  }
  misses_ += reads - hits;
  return hits * of_.hit + (reads - hits) * of_.miss;
}

}  // namespace lockwright::simulate
