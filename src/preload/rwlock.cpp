// pthread_rwlock_*: the entry points. Unless LOCKWRIGHT_RWLOCK says otherwise all
// go to the C library, and with it those of process-shared locks still do.
#include <pthread.h>
#include <time.h>

#include <cstring>
#include <new>

#include "interpose/choice.hpp"
#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "preload/chosen.hpp"
#include "preload/library_lock.hpp"
#include "preload/replaced_rwlock.hpp"
#include "preload/watch.hpp"

namespace lockwright::preload {

using interpose::deadline_clock;
using interpose::real;
using interpose::rwlock_way;
using interpose::rwlocks;

namespace {

template <class L>
struct in_rwlock {
  using type = L;
};

template <class Env>
struct in_rwlock<libc_mutex<Env>> {
  using type = library_lock;
};

using exclusive_rwlock = replaced_rwlock<exclusive_core<in_rwlock<chosen_lock>::type>>;
using phase_fair_rwlock = replaced_rwlock<phase_fair_core>;

/// Returns `call` of the lock, whichever of our algorithms it is.
template <class Call>
int with_own_unwatched(pthread_rwlock_t* lock, Call call) {
  return rwlocks.get() == rwlock_way::exclusive ? call(exclusive_rwlock::of(lock))
                                                : call(phase_fair_rwlock::of(lock));
}

/// What a call does that succeeds, for the tools that look for races.
enum class operation : std::uint8_t { destroys, reads, writes, leaves };

template <operation Does, class Call>
int ours(pthread_rwlock_t* lock, Call call) {
  if (!is_watched()) [[likely]] {
    return with_own_unwatched(lock, call);
  }
  // Another address than that of a mutex of the C library which may be inside.
  const char* known_as = reinterpret_cast<const char*>(lock) + 1;
  valgrind::hide(lock, sizeof *lock);
  if (Does == operation::leaves) {
    valgrind::released(known_as);
  }
  const int result = with_own_unwatched(lock, call);
  if (result == 0 && (Does == operation::reads || Does == operation::writes)) {
    valgrind::acquired(known_as, Does == operation::writes);
  }
  if (Does == operation::destroys) {
    valgrind::acquired(known_as);  // no thread may have until now
    valgrind::released(known_as);
    valgrind::destroyed(known_as);
    valgrind::show(lock, sizeof *lock);
  }
  return result;
}

template <class Own>
int make(pthread_rwlock_t* lock, int kind) {
  std::memset(lock, 0, sizeof *lock);
  ::new (static_cast<void*>(lock)) Own(static_cast<kind_word>(kind));
  return 0;
}

struct rwlock_entries {
  static bool is_left_to_library(const pthread_rwlock_t* lock) {
    return rwlocks.get() == rwlock_way::keep || exclusive_rwlock::is_shared(lock);
  }

  static void note_library_call(bool) {}

  template <class Call>
  static int library_until(deadline_clock clock, const timespec* deadline, Call call) {
    return interpose::library_until(clock, deadline, call);
  }

  static int init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* given, std::uint64_t) {
    int shared = PTHREAD_PROCESS_PRIVATE;
    int kind = PTHREAD_RWLOCK_DEFAULT_NP;
    if (given != nullptr) {
      pthread_rwlockattr_getpshared(given, &shared);
      pthread_rwlockattr_getkind_np(given, &kind);
    }
    if (rwlocks.get() == rwlock_way::keep || shared != PTHREAD_PROCESS_PRIVATE) {
      return real.rwlock_init(lock, given);
    }
    return rwlocks.get() == rwlock_way::exclusive ? make<exclusive_rwlock>(lock, kind)
                                                  : make<phase_fair_rwlock>(lock, kind);
  }

  static int destroy(pthread_rwlock_t* lock, std::uint64_t) {
    return ours<operation::destroys>(lock, [](auto& own) { return own.destroy(); });
  }
  static int rdlock(pthread_rwlock_t* lock, std::uint64_t) {
    return ours<operation::reads>(lock, [](auto& own) { return own.rdlock(); });
  }
  static int tryrdlock(pthread_rwlock_t* lock, std::uint64_t) {
    return ours<operation::reads>(lock, [](auto& own) { return own.tryrdlock(); });
  }
  static int rdlock_until(pthread_rwlock_t* lock, deadline_clock clock, const timespec* deadline,
                          std::uint64_t) {
    return ours<operation::reads>(lock,
                                  [=](auto& own) { return own.clockrdlock(clock, deadline); });
  }
  static int wrlock(pthread_rwlock_t* lock, std::uint64_t) {
    return ours<operation::writes>(lock, [](auto& own) { return own.wrlock(); });
  }
  static int trywrlock(pthread_rwlock_t* lock, std::uint64_t) {
    return ours<operation::writes>(lock, [](auto& own) { return own.trywrlock(); });
  }
  static int wrlock_until(pthread_rwlock_t* lock, deadline_clock clock, const timespec* deadline,
                          std::uint64_t) {
    return ours<operation::writes>(lock,
                                   [=](auto& own) { return own.clockwrlock(clock, deadline); });
  }
  static int unlock(pthread_rwlock_t* lock, std::uint64_t) {
    return ours<operation::leaves>(lock, [](auto& own) { return own.unlock(); });
  }
};

}  // namespace
}  // namespace lockwright::preload

using lockwright::preload::rwlock_entries;

#include "interpose/rwlock_entries.hpp"
