// The kind word of the C library's mutex: its POSIX type, and features that only the C library
// implements. A static initialiser sets only this word.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace lockwright::interpose {

using kind_word = std::uint32_t;

inline constexpr std::size_t kind_offset = offsetof(pthread_mutex_t, __data.__kind);
inline constexpr std::size_t owner_offset = offsetof(pthread_mutex_t, __data.__owner);
static_assert(kind_offset == 16 && owner_offset == 8 && sizeof(pthread_mutex_t) >= 40);

/// Bits of the word, as the C library's headers and static initialisers use them.
inline constexpr kind_word type_bits = 0x3;
/// Robust (16), priority inheritance (32), priority protection (64), process-shared (128).
inline constexpr kind_word library_bits = 0xf0;
/// Hints about lock elision, which say nothing about the type.
inline constexpr kind_word elision_bits = 0x300;

inline constexpr kind_word normal = PTHREAD_MUTEX_TIMED_NP;
inline constexpr kind_word recursive = PTHREAD_MUTEX_RECURSIVE_NP;
inline constexpr kind_word errorcheck = PTHREAD_MUTEX_ERRORCHECK_NP;
inline constexpr kind_word adaptive = PTHREAD_MUTEX_ADAPTIVE_NP;

/// Set by the C library's destroy: no type, all library bits.
inline constexpr kind_word destroyed = ~kind_word{0};

/// Returns true for a mutex that is left entirely to the C library.
inline constexpr bool is_library(kind_word kind) { return (kind & library_bits) != 0; }

inline constexpr kind_word type_of(kind_word kind) { return kind & type_bits; }

inline constexpr bool knows_owner(kind_word kind) {
  return type_of(kind) == recursive || type_of(kind) == errorcheck;
}

/// Returns true if `attributes` request a feature that only the C library implements.
inline bool wants_library(const pthread_mutexattr_t* attributes) {
  int shared = PTHREAD_PROCESS_PRIVATE;
  int protocol = PTHREAD_PRIO_NONE;
  int robust = PTHREAD_MUTEX_STALLED;
  pthread_mutexattr_getpshared(attributes, &shared);
  pthread_mutexattr_getprotocol(attributes, &protocol);
  pthread_mutexattr_getrobust(attributes, &robust);
  return shared != PTHREAD_PROCESS_PRIVATE || protocol != PTHREAD_PRIO_NONE ||
         robust != PTHREAD_MUTEX_STALLED;
}

}  // namespace lockwright::interpose
