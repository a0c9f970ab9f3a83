// One algorithm for all reader-writer locks. Weak: the library of several algorithms has functions
// of its own, mixed/rwlock_choice.cpp.
#include "preload/rwlock_choice.hpp"

namespace lockwright::preload {

[[gnu::weak]] rwlock_mode mode_at_init(const pthread_rwlock_t*, const void*) {
  return mode_without_plan();
}

[[gnu::weak]] rwlock_mode ensured_mode(pthread_rwlock_t* lock, const void*) {
  return give_mode(lock, mode_without_plan());
}

}  // namespace lockwright::preload
