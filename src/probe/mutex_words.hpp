// The words of the C library's mutex, and the data that the profiler stores in two of them, which
// it uses in robust mutexes only.
//
//   bytes | the C library's              | meaning here
//   0-3   | 0 free, 1 held, 2 held and   |
//         | a waiter may be parked       |
//   8-11  | the holder's number          |
//   12-15 | users                        |
//   16-19 | kind                         |
//   20-23 | spins, in adaptive mutexes   | acquisitions of others, modulo their number's range
//   24-27 | previous robust mutex        | record, plus one; or, with the highest bit, the site of
//         |                              | its initialisation, plus one; 0 if neither is known
//   28-31 |                              | number of waiters, and above it that of measured ones;
//         |                              | or the ordinal of the mutex among those of its site
//   32-39 | next robust mutex            | caller of the lock function of the holder, and flags
//
// Such a mutex may be zeroed, copied or initialised anew at any time: a record counts only if it
// has the mutex's address.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "interpose/kind.hpp"
#include "probe/profile_buffer.hpp"

namespace lockwright::probe {

using interpose::is_library;
using interpose::normal;

struct mutex_words {
  std::uint32_t lock;
  std::uint32_t count;
  std::uint32_t owner;
  std::uint32_t users;
  std::uint32_t kind;
  std::uint32_t taken;
  std::uint32_t link;
  std::uint32_t number;
  std::uint64_t site;

  static mutex_words& of(pthread_mutex_t* mutex) { return *reinterpret_cast<mutex_words*>(mutex); }
};
static_assert(offsetof(pthread_mutex_t, __data.__lock) == offsetof(mutex_words, lock));
static_assert(offsetof(pthread_mutex_t, __data.__count) == offsetof(mutex_words, count));
static_assert(offsetof(pthread_mutex_t, __data.__owner) == offsetof(mutex_words, owner));
static_assert(offsetof(pthread_mutex_t, __data.__nusers) == offsetof(mutex_words, users));
static_assert(offsetof(pthread_mutex_t, __data.__kind) == offsetof(mutex_words, kind));
static_assert(offsetof(pthread_mutex_t, __data.__list) == offsetof(mutex_words, link));
static_assert(sizeof(pthread_mutex_t) >= sizeof(mutex_words));

/// In `link`: a site, above it the number of the stack, plus one, if that was walked.
inline constexpr std::uint32_t is_init_site = 1U << 31;
inline constexpr unsigned init_stack_shift = 13;
static_assert(init_table::site_numbers < 1U << init_stack_shift);
static_assert(init_table::stack_numbers < 1U << (31 - init_stack_shift));

/// In `number`: one waiter whose wait is measured; it is counted as a waiter, too.
inline constexpr std::uint32_t one_measured = 1U << 16;

/// In `site`: the holding time is being measured. A site of 0: the last holder stored the time at
/// which it began to release the mutex.
inline constexpr std::uint64_t is_timed = std::uint64_t{1} << 63;
inline constexpr std::uint64_t address_bits = is_timed - 1;

/// Set by the C library for PTHREAD_MUTEX_NORMAL: no lock elision.
inline constexpr std::uint32_t never_elided = 0x200;

/// Returns true if the functions here do all that the C library does with the mutex.
inline bool is_simple(const mutex_words& mutex) { return (mutex.kind & ~never_elided) == normal; }

/// Returns true if the mutex counts its acquisitions.
inline bool counts(const mutex_words& mutex) {
  return interpose::type_of(mutex.kind) != interpose::adaptive;
}

inline bool is_profiled(const mutex_words& mutex) { return !is_library(mutex.kind); }

}  // namespace lockwright::probe
