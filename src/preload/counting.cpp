#include "counting.hpp"

#if LOCKWRIGHT_COUNTING

#include <atomic>

#include "sheet.hpp"

namespace lockwright::preload {
namespace {

/// Where counts go that nobody asked for.
sheet discarded;

std::atomic<sheet*> current{nullptr};

/// The sheet, mapped at the first count. Threads that race map it twice, which
/// is harmless: both mappings are the same memory.
sheet& the_sheet() {
  sheet* known = current.load(std::memory_order_acquire);
  if (known == nullptr) {
    known = map_sheet();
    if (known == nullptr) {
      known = &discarded;
    }
    current.store(known, std::memory_order_release);
  }
  return *known;
}

}  // namespace

void count(event what) {
  the_sheet().of[native::self() % sheet::stripes][static_cast<std::uint8_t>(what)].fetch_add(
      1, std::memory_order_relaxed);
}

void count_process() {
  the_sheet().processes.fetch_add(1, std::memory_order_relaxed);
  the_sheet().loaded.note();
}

void count_unresolved(std::uint64_t names) {
  the_sheet().unresolved.fetch_add(names, std::memory_order_relaxed);
}

}  // namespace lockwright::preload

#endif
