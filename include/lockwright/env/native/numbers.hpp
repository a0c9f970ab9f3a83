// Numbers that are unique in the process: a thread takes a block of them at a time.
#pragma once

#include <atomic>
#include <cstdint>

namespace lockwright::native_env {

inline constexpr std::uint64_t numbers_of_a_block = 1 << 16;

inline constinit std::atomic<std::uint64_t> first_free_number{0};

/// The last number that the thread has drawn. At a multiple of the block's size the block is used up.
inline constinit thread_local std::uint64_t last_number = 0;

/// Returns a new number, from 1 on. The child of a fork continues with its parent's numbers: it
/// shares no lock with the parent.
inline std::uint64_t unique_number() {
  if (last_number % numbers_of_a_block == 0) [[unlikely]] {
    last_number = first_free_number.fetch_add(numbers_of_a_block, std::memory_order_relaxed);
  }
  return ++last_number;
}

}  // namespace lockwright::native_env
