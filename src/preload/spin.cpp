// pthread_spin_*: the C library's.
#include <pthread.h>

#include "export.hpp"
#include "real.hpp"

using lockwright::preload::real;

extern "C" {

int lockwright_spin_init(pthread_spinlock_t* lock, int shared) noexcept {
  return real.spin_init(lock, shared);
}
int lockwright_spin_destroy(pthread_spinlock_t* lock) noexcept { return real.spin_destroy(lock); }
int lockwright_spin_lock(pthread_spinlock_t* lock) noexcept { return real.spin_lock(lock); }
int lockwright_spin_trylock(pthread_spinlock_t* lock) noexcept { return real.spin_trylock(lock); }
int lockwright_spin_unlock(pthread_spinlock_t* lock) noexcept { return real.spin_unlock(lock); }

}  // extern "C"

#define SPIN_FUNCTION(name)                                                       \
  VERSIONED_DEFAULT(lockwright_spin_##name, "pthread_spin_" #name, "GLIBC_2.34"); \
  VERSIONED_OLD(lockwright_spin_##name, old, "pthread_spin_" #name, BASE_VERSION)

SPIN_FUNCTION(init);
SPIN_FUNCTION(destroy);
SPIN_FUNCTION(lock);
SPIN_FUNCTION(trylock);
SPIN_FUNCTION(unlock);
