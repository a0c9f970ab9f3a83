// A lock algorithm over the simulated environment, as the workloads call it.
#pragma once

#include <cstddef>
#include <new>

#include "lockwright/env/simulated.hpp"
#include "lockwright/lock.hpp"

namespace lockwright::simulate {

struct lock_entry {
  const char* name;
  std::size_t bytes;
  std::size_t alignment;
  void (*make)(void* place);
  void (*destroy)(void* lock);
  /// True if it had to wait.
  bool (*lock)(void* lock);
  bool (*try_lock)(void* lock);
  void (*unlock)(void* lock);
  /// For the holder, before it waits for a condition variable.
  void (*expect_signals)(void* lock);
  bool parks;
};

template <class L>
constexpr lock_entry lock_entry_of(const char* name) {
  return {
      .name = name,
      .bytes = sizeof(L),
      .alignment = alignof(L),
      .make = [](void* place) { ::new (place) L; },
      .destroy = [](void* lock) { static_cast<L*>(lock)->~L(); },
      .lock = [](void* lock) { return static_cast<L*>(lock)->lock() == arrival::contended; },
      .try_lock = [](void* lock) { return static_cast<L*>(lock)->try_lock(); },
      .unlock = [](void* lock) { static_cast<L*>(lock)->unlock(); },
      .expect_signals =
          [](void* lock) {
            if constexpr (requires(L& l) { l.expect_signals(); }) {
              static_cast<L*>(lock)->expect_signals();
            }
          },
      .parks = L::traits.parks(),
  };
}

}  // namespace lockwright::simulate
