#include "rwlocks.hpp"

#include "lockwright/env/simulated/libc_rwlock.hpp"

namespace lockwright::simulate {

// One source file each, which the build writes.
#define LOCKWRIGHT_RWLOCK(name, identifier, ...) extern const rwlock_entry& entry_##identifier;
#include "lockwright/rwlocks.def"
#undef LOCKWRIGHT_RWLOCK

namespace {

using libc = simulated_env::libc_rwlock<simulated>;

constexpr rwlock_entry pthread{
    .name = "pthread",
    .bytes = sizeof(libc),
    .alignment = alignof(libc),
    .make = [](void* place) { ::new (place) libc; },
    .lock_read =
        [](void* lock) {
          static_cast<libc*>(lock)->lock_read();
          return true;
        },
    .unlock_read = [](void* lock) { static_cast<libc*>(lock)->unlock_read(); },
    .lock_write = [](void* lock) { static_cast<libc*>(lock)->lock_write(); },
    .unlock_write = [](void* lock) { static_cast<libc*>(lock)->unlock_write(); },
};

}  // namespace

const std::vector<const rwlock_entry*>& rwlocks() {
  static const std::vector<const rwlock_entry*> all{
      &pthread,
#define LOCKWRIGHT_RWLOCK(name, identifier, ...) &entry_##identifier,
#include "lockwright/rwlocks.def"
#undef LOCKWRIGHT_RWLOCK
  };
  return all;
}

}  // namespace lockwright::simulate
