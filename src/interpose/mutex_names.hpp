// The exported names and versions of the functions lockwright_mutex_*; to be included after their
// definitions.
#pragma once

#include "interpose/export.hpp"

VERSIONED_DEFAULT(lockwright_mutex_init, "pthread_mutex_init", BASE_VERSION);
VERSIONED_DEFAULT(lockwright_mutex_destroy, "pthread_mutex_destroy", BASE_VERSION);
VERSIONED_DEFAULT(lockwright_mutex_lock, "pthread_mutex_lock", BASE_VERSION);
VERSIONED_DEFAULT(lockwright_mutex_unlock, "pthread_mutex_unlock", BASE_VERSION);
VERSIONED_DEFAULT(lockwright_mutex_trylock, "pthread_mutex_trylock", "GLIBC_2.34");
VERSIONED_OLD(lockwright_mutex_trylock, old, "pthread_mutex_trylock", BASE_VERSION);
VERSIONED_DEFAULT(lockwright_mutex_timedlock, "pthread_mutex_timedlock", "GLIBC_2.34");
VERSIONED_OLD(lockwright_mutex_timedlock, old, "pthread_mutex_timedlock", BASE_VERSION);
VERSIONED_DEFAULT(lockwright_mutex_clocklock, "pthread_mutex_clocklock", "GLIBC_2.34");
VERSIONED_OLD(lockwright_mutex_clocklock, old, "pthread_mutex_clocklock", "GLIBC_2.30");

// The C library's aliases of the same functions, which old programs and
// some language runtimes are bound to.
VERSIONED_OLD(lockwright_mutex_init, second, "__pthread_mutex_init", BASE_VERSION);
VERSIONED_OLD(lockwright_mutex_destroy, second, "__pthread_mutex_destroy", BASE_VERSION);
VERSIONED_OLD(lockwright_mutex_lock, second, "__pthread_mutex_lock", BASE_VERSION);
VERSIONED_OLD(lockwright_mutex_trylock, second, "__pthread_mutex_trylock", BASE_VERSION);
VERSIONED_OLD(lockwright_mutex_unlock, second, "__pthread_mutex_unlock", BASE_VERSION);
