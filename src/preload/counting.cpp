#include "preload/counting.hpp"

#if LOCKWRIGHT_COUNTING

#include <atomic>

#include "preload/stats_page.hpp"

namespace lockwright::preload {
namespace {

/// Receives the counts if LOCKWRIGHT_STATS is not set.
stats_page discarded;

std::atomic<stats_page*> current{nullptr};

/// Returns the statistics page, mapped at the first count. Threads that race map it twice, which is
/// harmless: both mappings are the same memory.
stats_page& current_page() {
  stats_page* known = current.load(std::memory_order_acquire);
  if (known == nullptr) {
    known = map_stats_page();
    if (known == nullptr) {
      known = &discarded;
    }
    current.store(known, std::memory_order_release);
  }
  return *known;
}

}  // namespace

void count(event what) {
  current_page()
      .of[native::self() % stats_page::stripes][static_cast<std::uint8_t>(what)]
      .fetch_add(1, std::memory_order_relaxed);
}

void count_process() {
  if (current_page().loaded.record_process()) {
    current_page().processes.fetch_add(1, std::memory_order_relaxed);
  }
}

void count_unresolved(std::uint64_t names) {
  current_page().unresolved.fetch_add(names, std::memory_order_relaxed);
}

}  // namespace lockwright::preload

#endif
