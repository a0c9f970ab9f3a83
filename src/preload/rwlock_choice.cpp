// One algorithm for all reader-writer locks. Weak: the library of several algorithms has functions of
// its own, mixed/rwlock_choice.cpp.
#include "preload/rwlock_choice.hpp"

namespace lockwright::preload {

[[gnu::weak]] rwlock_mode mode_at_init(const pthread_rwlock_t*, const void*) {
  return interpose::rwlocks.get();
}

[[gnu::weak]] rwlock_mode ensured_mode(pthread_rwlock_t* lock, const void*) {
  const rwlock_mode mode = interpose::rwlocks.get();
  if (mode == rwlock_mode::keep) {
    all_are_kept.store(true, std::memory_order_relaxed);
    return mode;
  }
  return give_mode(lock, mode);
}

}  // namespace lockwright::preload
