// The algorithm that this library was built with.
#pragma once

#include "counting.hpp"

#if !defined(LOCKWRIGHT_ROW_HEADER)
#error "this source is compiled once for all algorithms: cmake/preload lists those that are not"
#endif
#include LOCKWRIGHT_ROW_HEADER

namespace lockwright::preload {

using chosen_lock = LOCKWRIGHT_CHOSEN_ROW::lock<environment>;

}  // namespace lockwright::preload
