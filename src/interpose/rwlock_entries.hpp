// The entry points pthread_rwlock_*, their names and their versions; to be included after a class
// `rwlock_entries` with the functions that they call.
#pragma once

#include <pthread.h>
#include <time.h>

#include "interpose/export.hpp"
#include "interpose/program_clock.hpp"
#include "interpose/real.hpp"

#define RWLOCK_NAMES(name)                                                            \
  VERSIONED_DEFAULT(lockwright_rwlock_##name, "pthread_rwlock_" #name, "GLIBC_2.34"); \
  VERSIONED_OLD(lockwright_rwlock_##name, old, "pthread_rwlock_" #name, BASE_VERSION)
// The C library's aliases, which old programs are bound to.
#define RWLOCK_ALIAS(name) \
  VERSIONED_OLD(lockwright_rwlock_##name, second, "__pthread_rwlock_" #name, BASE_VERSION)

// A function of a lock without other arguments; waits: whether it blocks while the lock is held;
// is_of_readers: whether readers call it.
// dispatch<is_of_readers>(lock, caller, fast, library, general) returns fast(the lock with its own
// type) or library(lock), if it knows at once which, or general(lock, caller), where `caller` may be 0
// if it is not used.
#define RWLOCK_ENTRY(name, waits, is_of_readers)                                            \
  extern "C" int lockwright_rwlock_##name(pthread_rwlock_t* called) noexcept {              \
    const auto library = [](pthread_rwlock_t* lock) {                                       \
      rwlock_entries::record_library_call(waits);                                           \
      return lockwright::interpose::real.rwlock_##name(lock);                               \
    };                                                                                      \
    return rwlock_entries::dispatch<is_of_readers>(                                         \
        called, LOCKWRIGHT_CALLER, [](auto& replaced) { return replaced.name(); }, library, \
        [library](pthread_rwlock_t* lock, std::uint64_t caller) {                           \
          return rwlock_entries::is_left_to_library(lock, caller)                           \
                     ? library(lock)                                                        \
                     : rwlock_entries::name(lock, caller);                                  \
        });                                                                                 \
  }                                                                                         \
  RWLOCK_NAMES(name);                                                                       \
  RWLOCK_ALIAS(name)

// The two functions with a deadline; side: rdlock or wrlock.
#define RWLOCK_DEADLINE_ENTRIES(side)                                                             \
  extern "C" int lockwright_rwlock_clock##side(pthread_rwlock_t* lock, clockid_t id,              \
                                               const timespec* deadline) noexcept {               \
    using namespace lockwright::interpose;                                                        \
    const deadline_clock clock = clock_of(timed::rwlock_clock##side, id);                         \
    return rwlock_entries::is_left_to_library(lock, LOCKWRIGHT_CALLER)                            \
               ? rwlock_entries::library_until(clock, deadline,                                   \
                                               [lock, id](const timespec* until) {                \
                                                 return real.rwlock_clock##side(lock, id, until); \
                                               })                                                 \
               : rwlock_entries::side##_until(lock, clock, deadline, LOCKWRIGHT_CALLER);          \
  }                                                                                               \
  extern "C" int lockwright_rwlock_timed##side(pthread_rwlock_t* lock,                            \
                                               const timespec* deadline) noexcept {               \
    using namespace lockwright::interpose;                                                        \
    const deadline_clock clock = clock_of(timed::rwlock_timed##side, CLOCK_REALTIME);             \
    return rwlock_entries::is_left_to_library(lock, LOCKWRIGHT_CALLER)                            \
               ? rwlock_entries::library_until(clock, deadline,                                   \
                                               [lock](const timespec* until) {                    \
                                                 return real.rwlock_timed##side(lock, until);     \
                                               })                                                 \
               : rwlock_entries::side##_until(lock, clock, deadline, LOCKWRIGHT_CALLER);          \
  }                                                                                               \
  RWLOCK_NAMES(timed##side);                                                                      \
  VERSIONED_DEFAULT(lockwright_rwlock_clock##side, "pthread_rwlock_clock" #side, "GLIBC_2.34");   \
  VERSIONED_OLD(lockwright_rwlock_clock##side, old, "pthread_rwlock_clock" #side, "GLIBC_2.30")

extern "C" int lockwright_rwlock_init(pthread_rwlock_t* lock,
                                      const pthread_rwlockattr_t* attributes) noexcept {
  return rwlock_entries::init(lock, attributes, LOCKWRIGHT_CALLER);
}
RWLOCK_NAMES(init);
RWLOCK_ALIAS(init);
RWLOCK_ENTRY(destroy, false, false);
RWLOCK_ENTRY(rdlock, true, true);
RWLOCK_ENTRY(tryrdlock, false, true);
RWLOCK_ENTRY(wrlock, true, false);
RWLOCK_ENTRY(trywrlock, false, false);
RWLOCK_ENTRY(unlock, false, true);
RWLOCK_DEADLINE_ENTRIES(rdlock);
RWLOCK_DEADLINE_ENTRIES(wrlock);
