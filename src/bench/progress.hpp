// The progress of each thread: its acquisitions, and its longest wait for a mutex.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "bench.hpp"

namespace bench {

struct alignas(cache_line_pair) progress_tally {
  std::atomic<std::uint64_t> acquisitions{0};
  // ticks() when the thread began to wait for the mutex; 0 while it does not.
  std::atomic<std::uint64_t> waiting_since{0};
  // In ticks, of the waits that have ended.
  std::atomic<std::uint64_t> longest_wait{0};

  void begins_to_wait() { waiting_since.store(ticks(), std::memory_order_relaxed); }

  // The wait ends here and not at the section's begin, which would make the section longer by a
  // reading of the clock otherwise.
  void has_unlocked() {
    const std::uint64_t took = ticks() - waiting_since.load(std::memory_order_relaxed);
    waiting_since.store(0, std::memory_order_relaxed);
    if (took > longest_wait.load(std::memory_order_relaxed)) {
      longest_wait.store(took, std::memory_order_relaxed);
    }
  }
};

// The longest wait so far, with those that have not ended, in ticks.
inline std::uint64_t longest_wait(const progress_tally* tallies, std::size_t count) {
  std::uint64_t longest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t since = tallies[i].waiting_since.load(std::memory_order_relaxed);
    const std::uint64_t now = ticks();
    longest = std::max(longest, tallies[i].longest_wait.load(std::memory_order_relaxed));
    if (since != 0 && now > since) {
      longest = std::max(longest, now - since);
    }
  }
  return longest;
}

}  // namespace bench
