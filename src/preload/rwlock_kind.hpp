// The kind word of a pthread_rwlock_t, which the static initialisers set to its POSIX kind alone.
//
//   bytes | meaning
//   0     | the kind, as pthread_rwlockattr_setkind_np() has it
//   1     | the algorithm, a rwlock_mode; 0: none yet, or the C library's lock
//   2-3   | generation, see fork.hpp; 0 in the C library's
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "interpose/choice.hpp"
#include "preload/kind.hpp"
#include "preload/watch.hpp"

namespace lockwright::preload {

using interpose::rwlock_mode;

inline constexpr kind_word rwlock_kind_bits = 0xff;
inline constexpr unsigned rwlock_mode_shift = 8;

inline kind_word kind_of(kind_word word) { return word & rwlock_kind_bits; }

inline rwlock_mode mode_of(kind_word word) {
  return static_cast<rwlock_mode>(word >> rwlock_mode_shift & 0xff);
}

inline kind_word bits_of(rwlock_mode which) {
  return static_cast<kind_word>(which) << rwlock_mode_shift;
}

/// Returns the algorithm of a lock that takes the fast path, else rwlock_mode::keep. The two loads
/// are of one word, which gets its algorithm and its generation in one step.
[[gnu::always_inline]] inline rwlock_mode fast_mode(const pthread_rwlock_t* lock) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  const auto* word = reinterpret_cast<const unsigned char*>(&lock->__data.__flags);
  // Acquire: see replaced_rwlock::adopted().
  const kind_word its_generation =
      __atomic_load_n(reinterpret_cast<const std::uint16_t*>(word + 2), __ATOMIC_ACQUIRE);
  if (its_generation == fast_path_generation.load(std::memory_order_acquire)) [[likely]] {
    return static_cast<rwlock_mode>(__atomic_load_n(word + 1, __ATOMIC_RELAXED));
  }
  return rwlock_mode::keep;
}

}  // namespace lockwright::preload
