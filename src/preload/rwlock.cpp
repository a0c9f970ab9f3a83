// pthread_rwlock_*: the entry points. They call the C library for locks without an algorithm, and
// always for process-shared ones.
#include <pthread.h>
#include <time.h>

#include <cstring>
#include <new>

#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "lockwright/rwlock_uses.hpp"
#include "lockwright/rwrows.hpp"
#include "preload/counting.hpp"
#include "preload/exclusive_rwlock.hpp"
#include "preload/replaced_rwlock.hpp"
#include "preload/rwlock_choice.hpp"
#include "preload/rwlock_kind.hpp"
#include "preload/watch.hpp"

namespace lockwright::preload {

using interpose::deadline_clock;
using interpose::real;

namespace {

template <template <class> class L>
using shared_rwlock = replaced_rwlock<shared_core<L<environment>>>;

/// Returns true for a process-shared lock, which is left to the C library.
bool is_process_shared(const pthread_rwlock_t* lock) {
  return __atomic_load_n(&lock->__data.__shared, __ATOMIC_RELAXED) != 0;
}

/// Returns call(the lock with its own type), for any lock that is not left to the C library.
template <class Call>
int with_replaced(pthread_rwlock_t* lock, Call call) {
  switch (mode_of(*lock)) {
#define LOCKWRIGHT_RWLOCK(name, identifier, ...) \
  case rwlock_mode::identifier:                  \
    return call(shared_rwlock<identifier##_lock>::adopted(lock));
#include "lockwright/rwlocks.def"
#undef LOCKWRIGHT_RWLOCK
    default:
      return call(exclusive_rwlock::of(lock));
  }
}

/// The effect of a successful call, for race detectors.
enum class operation : std::uint8_t { destroy, read, write, unlock };

template <operation Effect, class Call>
int perform(pthread_rwlock_t* lock, Call call) {
  if (!is_watched()) [[likely]] {
    return with_replaced(lock, call);
  }
  // Differs from the address of a C library's mutex that may be inside.
  const char* tool_address = reinterpret_cast<const char*>(lock) + 1;
  valgrind::hide(lock, sizeof *lock);
  if (Effect == operation::unlock) {
    valgrind::released(tool_address);
  }
  const int result = with_replaced(lock, call);
  if (result == 0 && (Effect == operation::read || Effect == operation::write)) {
    valgrind::acquired(tool_address, Effect == operation::write);
  }
  if (Effect == operation::destroy) {
    valgrind::acquired(tool_address);  // no thread may have acquired it before
    valgrind::released(tool_address);
    valgrind::destroyed(tool_address);
    valgrind::show(lock, sizeof *lock);
  }
  return result;
}

/// A function for each algorithm and call, which saves no more registers than that one needs.
template <class Replaced, class Call>
[[gnu::noinline]] int call_apart(pthread_rwlock_t* lock, Call call) {
  return call(Replaced::of(lock));
}

/// Calls that in a function, or without one where `Inlined`.
template <bool Inlined, class Replaced, class Call>
[[gnu::always_inline]] inline int call_fast(pthread_rwlock_t* lock, Call call) {
  if constexpr (Inlined) {
    return call(Replaced::of(lock));
  } else {
    return call_apart<Replaced>(lock, call);
  }
}

constexpr std::uint32_t number_of(rwlock_mode mode) { return static_cast<std::uint32_t>(mode); }

template <class Call>
[[gnu::noinline]] int call_out_of_line(pthread_rwlock_t* lock, std::uint64_t caller, Call call) {
  return call(lock, caller);
}

struct rwlock_entries {
  static bool is_left_to_library(pthread_rwlock_t* lock, std::uint64_t caller) {
    return fast_path_generation.load(std::memory_order_relaxed) == all_are_kept ||
           is_process_shared(lock) ||
           (mode_of(*lock) == rwlock_mode::keep &&
            (is_kept(*lock) ||
             ensured_mode(lock, reinterpret_cast<const void*>(caller)) == rwlock_mode::keep));
  }

  // Comparisons need no further load, unlike a jump table, which this file is compiled without.
  template <bool IsOfReaders, class Fast, class Library, class General>
  [[gnu::always_inline]] static int dispatch(pthread_rwlock_t* lock, std::uint64_t, Fast fast,
                                             Library library, General general) {
    const std::uint32_t armed = fast_path_generation.load(std::memory_order_acquire);
    if (armed == all_are_kept) {
      return library(lock);
    }
    const std::uint32_t mode = fast_mode(lock, armed);
#define LOCKWRIGHT_COMPARE(place, identifier)                                       \
  if constexpr (uses_of<identifier##_lock<environment>>().reader_path == (place)) { \
    if (mode == number_of(rwlock_mode::identifier)) [[likely]] {                    \
      constexpr bool inlined = IsOfReaders || (place) == reader_path::first;        \
      return call_fast<inlined, shared_rwlock<identifier##_lock>>(lock, fast);      \
    }                                                                               \
  }
#define LOCKWRIGHT_RWLOCK(name, identifier, ...) LOCKWRIGHT_COMPARE(reader_path::first, identifier)
#include "lockwright/rwlocks.def"
#undef LOCKWRIGHT_RWLOCK
#define LOCKWRIGHT_RWLOCK(name, identifier, ...) LOCKWRIGHT_COMPARE(reader_path::second, identifier)
#include "lockwright/rwlocks.def"
#undef LOCKWRIGHT_RWLOCK
#undef LOCKWRIGHT_COMPARE
    switch (mode) {
      case number_of(rwlock_mode::exclusive):
        return fast(exclusive_rwlock::of(lock));
#define LOCKWRIGHT_RWLOCK(name, identifier, ...)                                        \
  case number_of(rwlock_mode::identifier): {                                            \
    constexpr bool inlined =                                                            \
        IsOfReaders &&                                                                  \
        uses_of<identifier##_lock<environment>>().reader_path != reader_path::function; \
    return call_fast<inlined, shared_rwlock<identifier##_lock>>(lock, fast);            \
  }
#include "lockwright/rwlocks.def"
#undef LOCKWRIGHT_RWLOCK
      default:
        // Not the parameter: that would be loaded on every path.
        return call_out_of_line(lock, LOCKWRIGHT_CALLER, general);
    }
  }

  static void record_library_call(bool waits) {
    if (waits) {
      count(event::rwlock_left);
    }
  }

  template <class Call>
  static int library_until(deadline_clock clock, const timespec* deadline, Call call) {
    return interpose::library_until(clock, deadline, call);
  }

  static int init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attributes,
                  std::uint64_t caller) {
    int shared = PTHREAD_PROCESS_PRIVATE;
    int kind = PTHREAD_RWLOCK_DEFAULT_NP;
    if (attributes != nullptr) {
      pthread_rwlockattr_getpshared(attributes, &shared);
      pthread_rwlockattr_getkind_np(attributes, &kind);
    }
    if (shared != PTHREAD_PROCESS_PRIVATE) {
      return real.rwlock_init(lock, attributes);
    }
    const rwlock_mode mode = mode_at_init(lock, reinterpret_cast<const void*>(caller));
    if (mode == rwlock_mode::keep) {
      const int result = real.rwlock_init(lock, attributes);
      if (fast_path_generation.load(std::memory_order_relaxed) != all_are_kept) {
        keep(*lock);
      }
      return result;
    }
    std::memset(lock, 0, sizeof *lock);
    switch (mode) {
#define LOCKWRIGHT_RWLOCK(name, identifier, ...)                                        \
  case rwlock_mode::identifier:                                                         \
    ::new (static_cast<void*>(lock))                                                    \
        shared_rwlock<identifier##_lock>(static_cast<kind_word>(kind) | bits_of(mode)); \
    break;
#include "lockwright/rwlocks.def"
#undef LOCKWRIGHT_RWLOCK
      default:
        exclusive_rwlock::of(lock).make(static_cast<kind_word>(kind) |
                                        bits_of(rwlock_mode::exclusive));
    }
    return 0;
  }

  static int destroy(pthread_rwlock_t* lock, std::uint64_t) {
    return perform<operation::destroy>(lock, [](auto& replaced) { return replaced.destroy(); });
  }
  static int rdlock(pthread_rwlock_t* lock, std::uint64_t) {
    return perform<operation::read>(lock, [](auto& replaced) { return replaced.rdlock(); });
  }
  static int tryrdlock(pthread_rwlock_t* lock, std::uint64_t) {
    return perform<operation::read>(lock, [](auto& replaced) { return replaced.tryrdlock(); });
  }
  static int rdlock_until(pthread_rwlock_t* lock, deadline_clock clock, const timespec* deadline,
                          std::uint64_t) {
    return perform<operation::read>(
        lock, [=](auto& replaced) { return replaced.clockrdlock(clock, deadline); });
  }
  static int wrlock(pthread_rwlock_t* lock, std::uint64_t) {
    return perform<operation::write>(lock, [](auto& replaced) { return replaced.wrlock(); });
  }
  static int trywrlock(pthread_rwlock_t* lock, std::uint64_t) {
    return perform<operation::write>(lock, [](auto& replaced) { return replaced.trywrlock(); });
  }
  static int wrlock_until(pthread_rwlock_t* lock, deadline_clock clock, const timespec* deadline,
                          std::uint64_t) {
    return perform<operation::write>(
        lock, [=](auto& replaced) { return replaced.clockwrlock(clock, deadline); });
  }
  static int unlock(pthread_rwlock_t* lock, std::uint64_t) {
    return perform<operation::unlock>(lock, [](auto& replaced) { return replaced.unlock(); });
  }
};

}  // namespace
}  // namespace lockwright::preload

using lockwright::preload::rwlock_entries;

#include "interpose/rwlock_entries.hpp"
