// The mutex of this library: the chosen algorithm's, or the C library's own.
#pragma once

#include <type_traits>

#include "chosen.hpp"
#include "library_mutex.hpp"
#include "lockwright/lock/pthread.hpp"
#include "own_mutex.hpp"

namespace lockwright::preload {

template <class L>
struct mutex_for {
  using type = own_mutex<L>;
};

template <class Env>
struct mutex_for<libc_mutex<Env>> {
  using type = library_mutex;
};

using mutex = typename mutex_for<chosen_lock>::type;

}  // namespace lockwright::preload
