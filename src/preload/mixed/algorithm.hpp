// Which algorithm a mutex of the mixed library has: a number in its kind word.
#pragma once

#include <cstdint>

#include "preload/kind.hpp"

namespace lockwright::preload {

/// The rows of this build are numbered in the order of the registry; that of the
/// C library's mutex is never a mutex's, which has c_library instead.
enum class algorithm : std::uint8_t {
  unchosen,      ///< as the static initialisers leave it
  being_chosen,  ///< by a thread that will be through in a moment
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
