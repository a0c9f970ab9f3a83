// The kind word of a pthread_rwlock_t, which the static initialisers set to its POSIX kind alone.
//
//   bytes | meaning
//   0     | the kind, as pthread_rwlockattr_setkind_np() has it
//   1     | the algorithm, a rwlock_mode; 0: none yet, or the C library's lock
//   2-3   | generation, see fork.hpp; 0 in the C library's
#pragma once

#include <pthread.h>

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

/// Returns the number of the algorithm of a lock that takes the fast path, as in rwlock_mode. For
/// others that of rwlock_mode::keep, or one that no algorithm has. `armed`: fast_path_generation.
[[gnu::always_inline]] inline std::uint32_t fast_mode(const pthread_rwlock_t* lock,
                                                      std::uint32_t armed) {
  // Acquire: see replaced_rwlock::adopted().
  const kind_word word = __atomic_load_n(&lock->__data.__flags, __ATOMIC_ACQUIRE);
  return (word >> rwlock_mode_shift) ^ armed;
}

}  // namespace lockwright::preload
