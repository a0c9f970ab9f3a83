// pthread_rwlock_*: profiled as the C library's or, if LOCKWRIGHT_RWLOCK is `mutex`, replaced by a
// mutex, with which readers exclude each other. Process-shared ones are only counted.
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "interpose/choice.hpp"
#include "interpose/deadline.hpp"
#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "probe/kept_rwlock.hpp"
#include "probe/mutex.hpp"
#include "probe/mutex_words.hpp"
#include "probe/rwlock_words.hpp"
#include "probe/state.hpp"

namespace lockwright::probe {
namespace {

/// A reader-writer lock that is a mutex, with two words behind it that are zero in a statically
/// initialised lock.
struct exclusive {
  mutex_words used;      ///< the part of pthread_mutex_t that the C library uses
  std::uint32_t depth;   ///< repeated read locks of the holder, or a constant below
  std::uint32_t holder;  ///< 0 if there is none

  static exclusive& of(pthread_rwlock_t* lock) { return *reinterpret_cast<exclusive*>(lock); }
  pthread_mutex_t* mutex() { return reinterpret_cast<pthread_mutex_t*>(&used); }
};
// Initialising the mutex zeroes the whole of its type.
static_assert(sizeof(pthread_mutex_t) <= offsetof(pthread_rwlock_t, __data.__flags));
static_assert(sizeof(exclusive) <= offsetof(pthread_rwlock_t, __data.__flags));

constexpr std::uint32_t writing = 1U << 31;
constexpr std::uint32_t of_library = ~0U;  ///< process-shared

/// Returns a number of the calling thread, which it has in the child of a fork, too.
std::uint32_t self() {
  static constinit std::atomic<std::uint32_t> last{0};
  static thread_local constinit std::uint32_t number = 0;
  if (number == 0) {
    number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return number;
}

/// Relaxed: only the calling thread can have stored its own number.
bool is_held_by_caller(const exclusive& lock) {
  return __atomic_load_n(&lock.holder, __ATOMIC_RELAXED) == self();
}

void record_holder(exclusive& lock, std::uint32_t depth) {
  lock.depth = depth;
  __atomic_store_n(&lock.holder, self(), __ATOMIC_RELAXED);
}

/// Locks by `lock_mutex`, unless the caller already holds the mutex; writer_error: the result if it
/// does for writing.
template <class LockMutex>
int read(pthread_rwlock_t* lock, int writer_error, LockMutex lock_mutex) {
  exclusive& replaced = exclusive::of(lock);
  if (!is_held_by_caller(replaced)) {
    const int error = lock_mutex(replaced.mutex());
    if (error == 0) {
      record_holder(replaced, 0);
    }
    return error;
  }
  if (replaced.depth == writing) {
    return writer_error;
  }
  ++replaced.depth;
  return 0;
}

template <class LockMutex>
int write(pthread_rwlock_t* lock, int holder_error, LockMutex lock_mutex) {
  exclusive& replaced = exclusive::of(lock);
  const int error = is_held_by_caller(replaced) ? holder_error : lock_mutex(replaced.mutex());
  if (error == 0) {
    record_holder(replaced, writing);
  }
  return error;
}

// Unlike for a mutex, an invalid timespec is rejected even if the lock is free.
bool is_time(clockid_t clock, const timespec* deadline) {
  return interpose::is_known(clock) && interpose::is_valid(*deadline);
}

bool is_replaced() { return interpose::rwlocks.get() == interpose::rwlock_mode::exclusive; }

struct rwlock_entries {
  static bool is_left_to_library(pthread_rwlock_t* lock, std::uint64_t) {
    return is_replaced() ? exclusive::of(lock).depth == of_library
                         : rwlock_words::of(lock).shared != PTHREAD_PROCESS_PRIVATE;
  }

  template <bool is_of_readers, class Fast, class Library, class General>
  static int dispatch(pthread_rwlock_t* lock, std::uint64_t caller, Fast fast, Library,
                      General general) {
    if constexpr (is_of_readers) {
      kept::reader replaced{rwlock_words::of(lock)};
      if (fast(replaced) != kept::not_done) [[likely]] {
        return 0;
      }
    }
    return general(lock, caller);
  }

  static void record_library_call(bool waits) {
    if (waits) {
      ++slot_for_call().rwlock_calls;
    }
  }

  template <class Call>
  static int library_until(interpose::deadline_clock, const timespec* deadline, Call call) {
    return call(deadline);
  }

  static int init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attributes,
                  std::uint64_t caller) {
    int shared = PTHREAD_PROCESS_PRIVATE;
    if (attributes != nullptr) {
      pthread_rwlockattr_getpshared(attributes, &shared);
    }
    if (!is_replaced()) {
      return shared == PTHREAD_PROCESS_PRIVATE ? kept::init(lock, attributes, caller)
                                               : interpose::real.rwlock_init(lock, attributes);
    }
    if (shared != PTHREAD_PROCESS_PRIVATE) {
      const int error = interpose::real.rwlock_init(lock, attributes);
      exclusive::of(lock).depth = error == 0 ? of_library : 0;
      return error;
    }
    std::memset(lock, 0, sizeof *lock);
    return probe::init(exclusive::of(lock).mutex(), nullptr, caller);
  }

  static int destroy(pthread_rwlock_t* lock, std::uint64_t) {
    return is_replaced() ? probe::destroy(exclusive::of(lock).mutex())
                         : interpose::real.rwlock_destroy(lock);
  }
  static int rdlock(pthread_rwlock_t* lock, std::uint64_t caller) {
    if (!is_replaced()) {
      return kept::lock_read(lock, caller);
    }
    return read(lock, EDEADLK, [caller](auto* mutex) { return probe::lock(mutex, caller); });
  }
  static int tryrdlock(pthread_rwlock_t* lock, std::uint64_t caller) {
    if (!is_replaced()) {
      return kept::try_lock_read(lock, caller);
    }
    return read(lock, EBUSY, [caller](auto* mutex) { return try_lock(mutex, caller); });
  }
  static int rdlock_until(pthread_rwlock_t* lock, interpose::deadline_clock clock,
                          const timespec* deadline, std::uint64_t caller) {
    if (!is_time(clock.id, deadline)) {
      return EINVAL;
    }
    if (!is_replaced()) {
      return kept::lock_read_until(lock, clock.id, deadline, caller);
    }
    return read(lock, EDEADLK,
                [=](auto* mutex) { return lock_until(mutex, clock.id, deadline, caller); });
  }
  static int wrlock(pthread_rwlock_t* lock, std::uint64_t caller) {
    if (!is_replaced()) {
      return kept::lock_write(lock, caller);
    }
    return write(lock, EDEADLK, [caller](auto* mutex) { return probe::lock(mutex, caller); });
  }
  static int trywrlock(pthread_rwlock_t* lock, std::uint64_t caller) {
    if (!is_replaced()) {
      return kept::try_lock_write(lock, caller);
    }
    return write(lock, EBUSY, [caller](auto* mutex) { return try_lock(mutex, caller); });
  }
  static int wrlock_until(pthread_rwlock_t* lock, interpose::deadline_clock clock,
                          const timespec* deadline, std::uint64_t caller) {
    if (!is_time(clock.id, deadline)) {
      return EINVAL;
    }
    if (!is_replaced()) {
      return kept::lock_write_until(lock, clock.id, deadline, caller);
    }
    return write(lock, EDEADLK,
                 [=](auto* mutex) { return lock_until(mutex, clock.id, deadline, caller); });
  }
  static int unlock(pthread_rwlock_t* lock, std::uint64_t caller) {
    if (!is_replaced()) {
      return kept::unlock(lock, caller);
    }
    exclusive& replaced = exclusive::of(lock);
    if (replaced.depth != 0 && replaced.depth != writing) {
      --replaced.depth;
      return 0;
    }
    replaced.depth = 0;
    __atomic_store_n(&replaced.holder, 0, __ATOMIC_RELAXED);
    return probe::unlock(replaced.mutex(), caller);
  }
};

}  // namespace
}  // namespace lockwright::probe

using lockwright::probe::rwlock_entries;

#include "interpose/rwlock_entries.hpp"
