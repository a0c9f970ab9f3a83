// A reader-writer lock over the simulated environment, as the workloads call it.
#pragma once

#include <cstddef>
#include <new>

#include "lockwright/env/simulated.hpp"
#include "lockwright/rwlock.hpp"

namespace lockwright::simulate {

struct rwlock_entry {
  const char* name;
  std::size_t bytes;
  std::size_t alignment;
  void (*make)(void* place);
  /// False if it did not admit the caller.
  bool (*lock_read)(void* lock);
  void (*unlock_read)(void* lock);
  void (*lock_write)(void* lock);
  void (*unlock_write)(void* lock);
};

template <class L>
constexpr rwlock_entry rwlock_entry_of(const char* name) {
  return {
      .name = name,
      .bytes = sizeof(L),
      .alignment = alignof(L),
      .make = [](void* place) { ::new (place) L; },
      .lock_read =
          [](void* lock) { return static_cast<L*>(lock)->lock_read(false) == admission::inside; },
      .unlock_read = [](void* lock) { static_cast<L*>(lock)->unlock_read(); },
      .lock_write = [](void* lock) { static_cast<L*>(lock)->lock_write(); },
      .unlock_write = [](void* lock) { static_cast<L*>(lock)->unlock_write(false); },
  };
}

}  // namespace lockwright::simulate
