// pthread_mutex_*: the entry points.
#include "preload/mutex.hpp"

#include <type_traits>

#include "interpose/program_clock.hpp"
#include "preload/append.hpp"
#include "preload/chosen.hpp"
#include "preload/first_use.hpp"
#include "preload/watch.hpp"

namespace lockwright::preload {

constinit const bool adapts_by_default = !std::is_same_v<mutex, library_mutex>;

void find_nodes() {
  if constexpr (chosen_lock::traits.is_default) {
    environment::nodes();
  }
}

void use_locks() {
#if defined(LOCKWRIGHT_MIXED)
  constexpr bool has_memory_outside = true;  // mutexes of any algorithm may follow
#else
  chosen_lock scratches[100]{};
  for (chosen_lock& each : scratches) {
    each.lock();
    each.unlock();
  }
  const bool has_memory_outside = bytes_outside<chosen_lock>() != 0;
#endif
  if (!has_memory_outside) {
    return;
  }
  // A lock may take it at the first contention only.
  constexpr std::size_t most = std::size_t{64} << 10;
  for (std::size_t size = 64; size <= most; size *= 2) {
    const std::uint64_t owner = 0;
    if (void* block = environment::reserve(size, &owner)) {
      environment::unreserve(block, size, &owner);
    }
  }
}

}  // namespace lockwright::preload

using lockwright::interpose::clock_of;
using lockwright::interpose::timed;
using lockwright::preload::is_watched;
using lockwright::preload::mutex;

extern "C" {

int lockwright_mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* attributes) noexcept {
  if (is_watched() && lockwright::preload::is_called_by_tool(__builtin_return_address(0))) {
    return lockwright::preload::init_for_tool(m);
  }
  return mutex::init(m, attributes);
}

int lockwright_mutex_destroy(pthread_mutex_t* m) noexcept { return mutex::destroy(m); }

int lockwright_mutex_lock(pthread_mutex_t* m) noexcept { return mutex::lock(m); }

int lockwright_mutex_trylock(pthread_mutex_t* m) noexcept { return mutex::trylock(m); }

int lockwright_mutex_unlock(pthread_mutex_t* m) noexcept { return mutex::unlock(m); }

int lockwright_mutex_timedlock(pthread_mutex_t* m, const timespec* deadline) noexcept {
  return mutex::clocklock(m, clock_of(timed::mutex_timedlock, CLOCK_REALTIME), deadline);
}

int lockwright_mutex_clocklock(pthread_mutex_t* m, clockid_t clock,
                               const timespec* deadline) noexcept {
  return mutex::clocklock(m, clock_of(timed::mutex_clocklock, clock), deadline);
}

/// Declared in lockwright/pthread.h.
__attribute__((visibility("default"))) int lockwright_mutex_busylock(pthread_mutex_t* m) noexcept {
  return mutex::busylock(m);
}

}  // extern "C"

// Not replaced: pthread_mutex_consistent, pthread_mutex_getprioceiling and
// pthread_mutex_setprioceiling. They read only the kind word, and accept no kind that ours have.

#include "interpose/mutex_names.hpp"
