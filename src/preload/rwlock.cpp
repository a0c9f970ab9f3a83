// pthread_rwlock_*: the entry points. Unless LOCKWRIGHT_RWLOCK says otherwise all
// go to the C library, and with it those of process-shared locks still do.
#include <errno.h>
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

using interpose::clock_of;
using interpose::deadline_clock;
using interpose::library_until;
using interpose::real;
using interpose::rwlock_way;
using interpose::rwlocks;
using interpose::timed;

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

bool is_left_to_library(const pthread_rwlock_t* lock) {
  return rwlocks.get() == rwlock_way::keep || exclusive_rwlock::is_shared(lock);
}

/// Returns `call` of the lock, whichever of our algorithms it is.
template <class Call>
int ours_unwatched(pthread_rwlock_t* lock, Call call) {
  return rwlocks.get() == rwlock_way::exclusive ? call(exclusive_rwlock::of(lock))
                                                : call(phase_fair_rwlock::of(lock));
}

/// What a call does that succeeds, for the tools that look for races.
enum class operation : std::uint8_t { destroys, reads, writes, leaves };

template <operation Does, class Call>
int ours(pthread_rwlock_t* lock, Call call) {
  if (!is_watched()) [[likely]] {
    return ours_unwatched(lock, call);
  }
  // Another address than that of a mutex of the C library which may be inside.
  const char* known_as = reinterpret_cast<const char*>(lock) + 1;
  valgrind::hide(lock, sizeof *lock);
  if (Does == operation::leaves) {
    valgrind::released(known_as);
  }
  const int result = ours_unwatched(lock, call);
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

template <operation Does>
int ours_until(pthread_rwlock_t* lock, deadline_clock clock, const timespec* deadline) {
  return ours<Does>(lock, [clock, deadline](auto& own) {
    return Does == operation::reads ? own.clockrdlock(clock, deadline)
                                    : own.clockwrlock(clock, deadline);
  });
}

template <class Own>
int make(pthread_rwlock_t* lock, int kind) {
  std::memset(lock, 0, sizeof *lock);
  ::new (static_cast<void*>(lock)) Own(static_cast<kind_word>(kind));
  return 0;
}

}  // namespace
}  // namespace lockwright::preload

using namespace lockwright::preload;

extern "C" {

int lockwright_rwlock_init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* given) noexcept {
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

int lockwright_rwlock_destroy(pthread_rwlock_t* lock) noexcept {
  return is_left_to_library(lock)
             ? real.rwlock_destroy(lock)
             : ours<operation::destroys>(lock, [](auto& own) { return own.destroy(); });
}

int lockwright_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  return is_left_to_library(lock)
             ? real.rwlock_rdlock(lock)
             : ours<operation::reads>(lock, [](auto& own) { return own.rdlock(); });
}

int lockwright_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  return is_left_to_library(lock)
             ? real.rwlock_tryrdlock(lock)
             : ours<operation::reads>(lock, [](auto& own) { return own.tryrdlock(); });
}

int lockwright_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t id,
                                  const timespec* deadline) noexcept {
  const deadline_clock clock = clock_of(timed::rwlock_clockrdlock, id);
  return is_left_to_library(lock) ? library_until(clock, deadline,
                                                  [lock, id](const timespec* until) {
                                                    return real.rwlock_clockrdlock(lock, id, until);
                                                  })
                                  : ours_until<operation::reads>(lock, clock, deadline);
}

int lockwright_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* deadline) noexcept {
  const deadline_clock clock = clock_of(timed::rwlock_timedrdlock, CLOCK_REALTIME);
  return is_left_to_library(lock) ? library_until(clock, deadline,
                                                  [lock](const timespec* until) {
                                                    return real.rwlock_timedrdlock(lock, until);
                                                  })
                                  : ours_until<operation::reads>(lock, clock, deadline);
}

int lockwright_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  return is_left_to_library(lock)
             ? real.rwlock_wrlock(lock)
             : ours<operation::writes>(lock, [](auto& own) { return own.wrlock(); });
}

int lockwright_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  return is_left_to_library(lock)
             ? real.rwlock_trywrlock(lock)
             : ours<operation::writes>(lock, [](auto& own) { return own.trywrlock(); });
}

int lockwright_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t id,
                                  const timespec* deadline) noexcept {
  const deadline_clock clock = clock_of(timed::rwlock_clockwrlock, id);
  return is_left_to_library(lock) ? library_until(clock, deadline,
                                                  [lock, id](const timespec* until) {
                                                    return real.rwlock_clockwrlock(lock, id, until);
                                                  })
                                  : ours_until<operation::writes>(lock, clock, deadline);
}

int lockwright_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* deadline) noexcept {
  const deadline_clock clock = clock_of(timed::rwlock_timedwrlock, CLOCK_REALTIME);
  return is_left_to_library(lock) ? library_until(clock, deadline,
                                                  [lock](const timespec* until) {
                                                    return real.rwlock_timedwrlock(lock, until);
                                                  })
                                  : ours_until<operation::writes>(lock, clock, deadline);
}

int lockwright_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  return is_left_to_library(lock)
             ? real.rwlock_unlock(lock)
             : ours<operation::leaves>(lock, [](auto& own) { return own.unlock(); });
}

}  // extern "C"

#include "interpose/rwlock_names.hpp"
