// The mutex of this library: with the library's algorithm, the C library's, or one of several.
#pragma once

#if defined(LOCKWRIGHT_MIXED)

#include "preload/mixed/mixed_mutex.hpp"

namespace lockwright::preload {

using mutex = mixed_mutex;

}  // namespace lockwright::preload

#else

#include "lockwright/lock/pthread.hpp"
#include "preload/chosen.hpp"
#include "preload/inline_lock.hpp"
#include "preload/library_mutex.hpp"
#include "preload/replaced_mutex.hpp"

namespace lockwright::preload {

template <class L>
struct mutex_for {
  using type = replaced_mutex<inline_lock<L>>;
};

template <class Env>
struct mutex_for<libc_mutex<Env>> {
  using type = library_mutex;
};

using mutex = typename mutex_for<chosen_lock>::type;

}  // namespace lockwright::preload

#endif
