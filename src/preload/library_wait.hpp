// A condition variable wait of ours with a mutex of the C library, which counts the threads that
// hold it or wait with it (__nusers), and is not destroyed while there are any. Its own wait leaves
// the waiter counted; its unlock and lock functions do not.
#pragma once

#include <errno.h>
#include <pthread.h>

#include <cstdint>

#include "interpose/real.hpp"
#include "interpose/thread_number.hpp"

namespace lockwright::preload {

using interpose::real;
using interpose::thread_number;

/// Unlocks with unlock(mutex), and returns its result. Sets `is_counted` if the caller stays
/// counted. Only the holder changes the count: a caller that the C library has not recorded as
/// holder stays uncounted. Lock elision records neither holder nor users.
template <class Unlock>
int release_library(pthread_mutex_t* mutex, bool& is_counted, Unlock unlock) {
  const bool is_holder = static_cast<std::uint32_t>(__atomic_load_n(
                             &mutex->__data.__owner, __ATOMIC_RELAXED)) == thread_number();
  if (is_holder) {
    ++mutex->__data.__nusers;
  }
  const int result = unlock(mutex);
  if (result != 0 && is_holder) {
    --mutex->__data.__nusers;
  }
  is_counted = result == 0 && is_holder;
  return result;
}

/// Undoes release_library(), which set `is_counted`. Returns 0 or an error number.
inline int reacquire_library(pthread_mutex_t* mutex, bool is_counted) {
  const int result = real.mutex_lock(mutex);
  if (is_counted && (result == 0 || result == EOWNERDEAD)) {
    --mutex->__data.__nusers;
  }
  return result;
}

}  // namespace lockwright::preload
