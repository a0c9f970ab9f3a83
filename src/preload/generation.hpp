// The number of this process in a chain of forks; see fork.hpp.
#pragma once

#include "preload/kind.hpp"

namespace lockwright::preload {

/// How many forks lie between the process that loaded the library and this one,
/// modulo 2^16, in generation_bits. Changed only in the child of a fork, while
/// that has one thread.
inline constinit kind_word generation = 0;

}  // namespace lockwright::preload
