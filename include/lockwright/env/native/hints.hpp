// A thread's hints about the locks that it has used: one bit each, of 64.
#pragma once

#include <cstdint>

namespace lockwright::native_env {

/// Locks whose addresses hash to the same bit share it: a wrong hint only costs time. A record of
/// every lock would grow with threads times locks.
inline constinit thread_local std::uint64_t hints = 0;

/// The high bits of a product with 2^64 / phi differ for adjacent addresses
/// (Fibonacci hashing, Knuth, TAOCP 6.4).
inline std::uint64_t hint_of(const void* lock) {
  const std::uint64_t hash = reinterpret_cast<std::uintptr_t>(lock) * 0x9E37'79B9'7F4A'7C15u;
  return std::uint64_t{1} << (hash >> 58);
}

inline bool hint(const void* lock) { return (hints & hint_of(lock)) != 0; }

inline void set_hint(const void* lock, bool value) {
  hints = value ? hints | hint_of(lock) : hints & ~hint_of(lock);
}

}  // namespace lockwright::native_env
