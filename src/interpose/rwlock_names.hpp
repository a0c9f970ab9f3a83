// Under which names and versions the functions lockwright_rwlock_* are exported; to be included
// behind their definitions.
#pragma once

#include "interpose/export.hpp"

#define RWLOCK_FUNCTION(name)                                                         \
  VERSIONED_DEFAULT(lockwright_rwlock_##name, "pthread_rwlock_" #name, "GLIBC_2.34"); \
  VERSIONED_OLD(lockwright_rwlock_##name, old, "pthread_rwlock_" #name, BASE_VERSION)
// The C library's second names, which old programs are bound to.
#define SECOND_NAME(name) \
  VERSIONED_OLD(lockwright_rwlock_##name, second, "__pthread_rwlock_" #name, BASE_VERSION)

RWLOCK_FUNCTION(init);
RWLOCK_FUNCTION(destroy);
RWLOCK_FUNCTION(rdlock);
RWLOCK_FUNCTION(tryrdlock);
RWLOCK_FUNCTION(timedrdlock);
RWLOCK_FUNCTION(wrlock);
RWLOCK_FUNCTION(trywrlock);
RWLOCK_FUNCTION(timedwrlock);
RWLOCK_FUNCTION(unlock);
VERSIONED_DEFAULT(lockwright_rwlock_clockrdlock, "pthread_rwlock_clockrdlock", "GLIBC_2.34");
VERSIONED_OLD(lockwright_rwlock_clockrdlock, old, "pthread_rwlock_clockrdlock", "GLIBC_2.30");
VERSIONED_DEFAULT(lockwright_rwlock_clockwrlock, "pthread_rwlock_clockwrlock", "GLIBC_2.34");
VERSIONED_OLD(lockwright_rwlock_clockwrlock, old, "pthread_rwlock_clockwrlock", "GLIBC_2.30");
SECOND_NAME(init);
SECOND_NAME(destroy);
SECOND_NAME(rdlock);
SECOND_NAME(tryrdlock);
SECOND_NAME(wrlock);
SECOND_NAME(trywrlock);
SECOND_NAME(unlock);
