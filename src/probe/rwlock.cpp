// pthread_rwlock_*: only counted or, if LOCKWRIGHT_RWLOCK asks for it, replaced by a mutex, at
// which readers exclude each other. Process-shared ones stay with the C library.
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
#include "probe/mutex.hpp"
#include "probe/mutex_words.hpp"
#include "probe/state.hpp"

namespace lockwright::probe {
namespace {

/// A reader-writer lock that is a mutex: what lies behind the words of the mutex. All zero in a
/// lock that was initialised statically.
struct exclusive {
  mutex_words used;      ///< all that the C library uses of the mutex's type, which may be longer
  std::uint32_t depth;   ///< how often its holder took it for reading once more, or one of below
  std::uint32_t holder;  ///< 0 if there is none

  static exclusive& of(pthread_rwlock_t* lock) { return *reinterpret_cast<exclusive*>(lock); }
  pthread_mutex_t* mutex() { return reinterpret_cast<pthread_mutex_t*>(&used); }
};
// Initialising the mutex zeroes the whole of its type.
static_assert(sizeof(pthread_mutex_t) <= offsetof(pthread_rwlock_t, __data.__flags));
static_assert(sizeof(exclusive) <= offsetof(pthread_rwlock_t, __data.__flags));

constexpr std::uint32_t writing = 1U << 31;
constexpr std::uint32_t of_library = ~0U;  ///< processes share it

/// A number of the calling thread's own, which a child that it forks has, too.
std::uint32_t self() {
  static constinit std::atomic<std::uint32_t> last{0};
  static thread_local constinit std::uint32_t number = 0;
  if (number == 0) {
    number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return number;
}

/// Only the calling thread can have written its own number there.
bool is_held_by_caller(const exclusive& lock) {
  return __atomic_load_n(&lock.holder, __ATOMIC_RELAXED) == self();
}

void hold(exclusive& lock, std::uint32_t depth) {
  lock.depth = depth;
  __atomic_store_n(&lock.holder, self(), __ATOMIC_RELAXED);
}

/// `take` locks the mutex, if the caller does not hold it; `own_write`: what becomes of one who
/// does, for writing.
template <class Take>
int read(pthread_rwlock_t* lock, int own_write, Take take) {
  exclusive& own = exclusive::of(lock);
  if (!is_held_by_caller(own)) {
    const int error = take(own.mutex());
    if (error == 0) {
      hold(own, 0);
    }
    return error;
  }
  if (own.depth == writing) {
    return own_write;
  }
  ++own.depth;
  return 0;
}

template <class Take>
int write(pthread_rwlock_t* lock, int held, Take take) {
  exclusive& own = exclusive::of(lock);
  const int error = is_held_by_caller(own) ? held : take(own.mutex());
  if (error == 0) {
    hold(own, writing);
  }
  return error;
}

// Unlike for a mutex, an invalid timespec is rejected even if the lock is free.
bool is_time(clockid_t clock, const timespec* deadline) {
  return interpose::is_known(clock) && interpose::is_valid(*deadline);
}

struct rwlock_entries {
  static bool is_left_to_library(pthread_rwlock_t* lock) {
    return interpose::rwlocks.get() != interpose::rwlock_way::exclusive ||
           exclusive::of(lock).depth == of_library;
  }

  static void note_library_call(bool waits) {
    if (waits) {
      ++slot_for_call().rwlock_calls;
    }
  }

  template <class Call>
  static int library_until(interpose::deadline_clock, const timespec* deadline, Call call) {
    return call(deadline);
  }

  static int init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* given, std::uint64_t caller) {
    int shared = PTHREAD_PROCESS_PRIVATE;
    if (given != nullptr) {
      pthread_rwlockattr_getpshared(given, &shared);
    }
    exclusive& own = exclusive::of(lock);
    if (interpose::rwlocks.get() != interpose::rwlock_way::exclusive ||
        shared != PTHREAD_PROCESS_PRIVATE) {
      const int error = interpose::real.rwlock_init(lock, given);
      own.depth = error == 0 && shared != PTHREAD_PROCESS_PRIVATE ? of_library : 0;
      return error;
    }
    std::memset(lock, 0, sizeof *lock);
    return probe::init(own.mutex(), nullptr, caller);
  }

  static int destroy(pthread_rwlock_t* lock, std::uint64_t) {
    return probe::destroy(exclusive::of(lock).mutex());
  }
  static int rdlock(pthread_rwlock_t* lock, std::uint64_t caller) {
    return read(lock, EDEADLK, [caller](auto* mutex) { return probe::lock(mutex, caller); });
  }
  static int tryrdlock(pthread_rwlock_t* lock, std::uint64_t caller) {
    return read(lock, EBUSY, [caller](auto* mutex) { return try_lock(mutex, caller); });
  }
  static int rdlock_until(pthread_rwlock_t* lock, interpose::deadline_clock clock,
                          const timespec* deadline, std::uint64_t caller) {
    return !is_time(clock.id, deadline) ? EINVAL : read(lock, EDEADLK, [=](auto* mutex) {
      return lock_until(mutex, clock.id, deadline, caller);
    });
  }
  static int wrlock(pthread_rwlock_t* lock, std::uint64_t caller) {
    return write(lock, EDEADLK, [caller](auto* mutex) { return probe::lock(mutex, caller); });
  }
  static int trywrlock(pthread_rwlock_t* lock, std::uint64_t caller) {
    return write(lock, EBUSY, [caller](auto* mutex) { return try_lock(mutex, caller); });
  }
  static int wrlock_until(pthread_rwlock_t* lock, interpose::deadline_clock clock,
                          const timespec* deadline, std::uint64_t caller) {
    return !is_time(clock.id, deadline) ? EINVAL : write(lock, EDEADLK, [=](auto* mutex) {
      return lock_until(mutex, clock.id, deadline, caller);
    });
  }
  static int unlock(pthread_rwlock_t* lock, std::uint64_t caller) {
    exclusive& own = exclusive::of(lock);
    if (own.depth != 0 && own.depth != writing) {
      --own.depth;
      return 0;
    }
    own.depth = 0;
    __atomic_store_n(&own.holder, 0, __ATOMIC_RELAXED);
    return probe::unlock(own.mutex(), caller);
  }
};

}  // namespace
}  // namespace lockwright::probe

using lockwright::probe::rwlock_entries;

#include "interpose/rwlock_entries.hpp"
