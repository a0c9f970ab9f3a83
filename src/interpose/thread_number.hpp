// The number of the calling thread that the C library writes into its own mutexes as their owner:
// the one in the thread's control block. A program may find it there through a mutex, and correct
// it after its own clone(), as browsers do; so the owner field of our mutexes has to hold the same
// number. It costs no system call, for which a sandbox might kill the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockwright::interpose {

/// The offset of the number from the thread pointer, in bytes; or one of the two constants below,
/// which are not a multiple of its size.
inline constinit std::atomic<std::ptrdiff_t> number_offset{1};
inline constexpr std::ptrdiff_t number_not_looked_for = 1;
inline constexpr std::ptrdiff_t number_not_found = 2;

inline bool is_number_offset(std::ptrdiff_t offset) { return offset % 4 == 0; }

/// Looks for the offset, once; returns true if there is one. Without it, as in no known C library,
/// each thread calls gettid() once, and no mutex takes the fast path.
bool find_thread_number();

/// Returns the calling thread's number; looks for its offset first, or calls gettid().
std::uint32_t ask_thread_number();

/// Clears the number from gettid(); called in the child of a fork.
void forget_thread_number();

inline std::uint32_t number_at(std::ptrdiff_t offset) {
#if defined(__x86_64__)
  // Not all compilers for this processor can name the thread pointer.
  std::uint32_t number;
  asm volatile("movl %%fs:(%1), %0" : "=r"(number) : "r"(offset));
  return number;
#else
  auto* base = static_cast<const char*>(__builtin_thread_pointer());
  return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(base + offset), __ATOMIC_RELAXED);
#endif
}

/// Returns the number after find_thread_number() has returned true. Relaxed: the caller has
/// acquired that result.
inline std::uint32_t found_thread_number() {
  return number_at(number_offset.load(std::memory_order_relaxed));
}

inline std::uint32_t thread_number() {
  // Relaxed: all threads find the same offset, and the number there is the calling thread's own.
  const std::ptrdiff_t offset = number_offset.load(std::memory_order_relaxed);
  if (is_number_offset(offset)) [[likely]] {
    return number_at(offset);
  }
  return ask_thread_number();
}

}  // namespace lockwright::interpose
