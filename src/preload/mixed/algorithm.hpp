// The algorithm of a mutex in the mixed library: a number in its kind word.
#pragma once

#include <cstdint>

#include "preload/kind.hpp"

namespace lockwright::preload {

/// The algorithms of this build, numbered in the order of the registry. A mutex of the C library
/// has c_library, never the number of its row.
enum class algorithm : std::uint8_t {
  unchosen,      ///< as the static initialisers leave it
  being_chosen,  ///< a thread is choosing, and waits for no other
  c_library,     ///< the mutex is the C library's own, in all but these bits
#define LOCKWRIGHT_LOCK(name, identifier, ...) of_##identifier,
#include "lockwright/built.def"
#undef LOCKWRIGHT_LOCK
  end,
};

static_assert(static_cast<kind_word>(algorithm::end) <= algorithm_bits >> algorithm_shift);

inline constexpr algorithm algorithm_of(kind_word kind) {
  return static_cast<algorithm>((kind & algorithm_bits) >> algorithm_shift);
}

inline constexpr kind_word bits_of(algorithm which) {
  return static_cast<kind_word>(which) << algorithm_shift;
}

}  // namespace lockwright::preload
