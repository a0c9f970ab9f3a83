// The words of the C library's reader-writer lock, and the data that the profiler stores in those
// that it does not use.
//
//   bytes | the C library's                      | meaning here
//   0-3   | bit 0: a phase of writers; bit 1: a  |
//         | writer holds it or is about to;      |
//         | bit 2: readers sleep; above: readers |
//   16-19 | unused                               | `link` of mutex_words.hpp: the record of writers
//   20-23 | unused                               | number of waiters, or the ordinal likewise
//   28-31 | shared between processes             |
//   40-47 | unused                               | caller of the lock function of the writer inside,
//         |                                      | with `is_write`; else that of the last sampled
//         |                                      | reader; else 0
//   48-51 | preference                           |
//
// The bits of the first word are no interface: learn_readers() looks once whether they are as here.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockwright::probe {

struct rwlock_words {
  std::uint32_t state;
  std::uint32_t waiting_writers;
  std::uint32_t write_phase;
  std::uint32_t writers;
  std::uint32_t link;
  std::uint32_t number;
  std::int32_t writer;
  std::int32_t shared;
  std::uint64_t elision;
  std::uint64_t site;
  std::uint32_t preference;

  static rwlock_words& of(pthread_rwlock_t* lock) { return *reinterpret_cast<rwlock_words*>(lock); }
};
static_assert(offsetof(pthread_rwlock_t, __data.__readers) == offsetof(rwlock_words, state));
static_assert(offsetof(pthread_rwlock_t, __data.__pad3) == offsetof(rwlock_words, link));
static_assert(offsetof(pthread_rwlock_t, __data.__pad4) == offsetof(rwlock_words, number));
static_assert(offsetof(pthread_rwlock_t, __data.__shared) == offsetof(rwlock_words, shared));
static_assert(offsetof(pthread_rwlock_t, __data.__pad2) == offsetof(rwlock_words, site));
static_assert(offsetof(pthread_rwlock_t, __data.__flags) == offsetof(rwlock_words, preference));
static_assert(offsetof(rwlock_words, link) % sizeof(std::uint64_t) == 0);
static_assert(sizeof(rwlock_words) <= sizeof(pthread_rwlock_t));

/// In `site`: a writer is inside.
inline constexpr std::uint64_t is_write = std::uint64_t{1} << 63;

/// Returns true if a reader, or a writer, would wait, so far as the state tells.
inline bool holds_up(const rwlock_words& lock, bool writer) {
  const std::uint32_t state = __atomic_load_n(&lock.state, __ATOMIC_RELAXED);
  if (writer) {
    return state > 1;
  }
  constexpr std::uint32_t writing = 3;
  return (state & writing) == writing ||
         (lock.preference == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP && (state & 2) != 0);
}

/// In `state`: one reader; and what only the C library can deal with: a writer, or sleeping readers.
inline constexpr std::uint32_t one_reader = 8;
inline constexpr std::uint32_t not_for_readers = one_reader - 1;

/// The state below which readers enter and leave by the functions below; 0 until learn_readers() has
/// found that the C library counts them so.
inline constinit std::atomic<std::uint32_t> most_readers{0};

/// Looks at what the C library does with a lock, and sets `most_readers`.
void learn_readers();

inline bool change_readers(rwlock_words& lock, std::uint32_t from, std::uint32_t to, int order) {
  return __atomic_compare_exchange_n(&lock.state, &from, to, false, order, __ATOMIC_RELAXED);
}

/// Enters as a reader. Returns false if it did not: the C library has to do it.
inline bool try_enter(rwlock_words& lock) {
  const std::uint32_t state = __atomic_load_n(&lock.state, __ATOMIC_RELAXED);
  return (state & not_for_readers) == 0 && state < most_readers.load(std::memory_order_relaxed) &&
         change_readers(lock, state, state + one_reader, __ATOMIC_ACQUIRE);
}

/// Leaves as a reader likewise.
inline bool try_leave(rwlock_words& lock) {
  const std::uint32_t state = __atomic_load_n(&lock.state, __ATOMIC_RELAXED);
  const std::uint32_t left = state - one_reader;
  return (state & not_for_readers) == 0 && left < most_readers.load(std::memory_order_relaxed) &&
         change_readers(lock, state, left, __ATOMIC_RELEASE);
}

}  // namespace lockwright::probe
