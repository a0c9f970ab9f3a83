// The algorithm of this library.
#pragma once

#include "preload/counting.hpp"

#if defined(LOCKWRIGHT_MIXED)
#include "lockwright/lock/pthread.hpp"
#elif defined(LOCKWRIGHT_ROW_HEADER)
#include LOCKWRIGHT_ROW_HEADER
#else
#error "a source in the list without_algorithm of CMakeLists.txt must not include this"
#endif

namespace lockwright::preload {

#if defined(LOCKWRIGHT_MIXED)
/// The algorithm of objects other than mutexes.
using chosen_lock = libc_mutex<environment>;
#else
using chosen_lock = LOCKWRIGHT_CHOSEN_ROW::lock<environment>;
#endif

}  // namespace lockwright::preload
