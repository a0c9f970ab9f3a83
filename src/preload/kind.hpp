// The kind word of our mutexes, in bits that the C library's own mutexes leave 0.
#pragma once

#include "interpose/kind.hpp"

namespace lockwright::preload {

using interpose::adaptive;
using interpose::destroyed;
using interpose::elision_bits;
using interpose::errorcheck;
using interpose::is_library;
using interpose::kind_offset;
using interpose::kind_word;
using interpose::knows_owner;
using interpose::library_bits;
using interpose::normal;
using interpose::owner_offset;
using interpose::recursive;
using interpose::type_bits;
using interpose::type_of;
using interpose::wants_library;

/// The generation of the process that an object of ours was last repaired for; see fork.hpp. No
/// static initialiser and nothing in the C library uses these bits.
inline constexpr kind_word generation_bits = 0xffff0000;
inline constexpr kind_word one_generation = 0x00010000;

/// The mutex has been announced to a race detector.
inline constexpr kind_word known_to_tool = 0x4;
/// Set in no mutex's word, see watch.hpp.
inline constexpr kind_word never_set = 0x8;

/// The algorithm of the mutex, in a library of several: see mixed/lock_variant.hpp. The C
/// library reads none of these bits, nor those of the generation.
inline constexpr kind_word algorithm_bits = 0xfc00;
inline constexpr unsigned algorithm_shift = 10;

/// Returns true for one of our mutexes of another generation than this process's.
inline constexpr bool is_stale(kind_word kind, kind_word generation) {
  return !is_library(kind) && ((kind ^ generation) & generation_bits) != 0;
}

/// Returns true for one of our mutexes that is not stale and does not check its holder, which takes
/// the fast path, see watch.hpp.
inline constexpr bool is_plain(kind_word kind, kind_word fast_path_kind) {
  kind = (kind ^ fast_path_kind) & ~(elision_bits | algorithm_bits);
  return kind == normal || kind == adaptive;
}

}  // namespace lockwright::preload
