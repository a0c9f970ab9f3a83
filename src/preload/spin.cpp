// pthread_spin_*: the entry points. They call the C library unless LOCKWRIGHT_SPIN is set, and
// always for process-shared locks.
#include <errno.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <new>

#include "interpose/choice.hpp"
#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "lockwright/lock/pthread.hpp"
#include "preload/chosen.hpp"
#include "preload/counting.hpp"
#include "preload/watch.hpp"

namespace lockwright::preload {

using interpose::real;
using interpose::spin_mode;
using interpose::spins;

namespace {

/// The layout, over the four bytes of a pthread_spinlock_t:
///
///   bytes | meaning                                       | written by
///   0-1   | the lock                                      | its algorithm
///   2-3   | our mark: the C library's spin locks, which   | initialisation
///         | count down from 1 or up from 0, never have it |
///
/// The lock itself has to show its implementation: a process-shared one is the C library's, and
/// another process may have initialised it. So an algorithm that needs more than half of the bytes
/// cannot be used.
template <class L>
class replaced_spin {
 public:
  static constexpr bool fits = sizeof(L) <= 2 && alignof(L) <= 2;

  static replaced_spin& of(pthread_spinlock_t* lock) {
    return *reinterpret_cast<replaced_spin*>(const_cast<int*>(lock));
  }

  static bool is_ours(pthread_spinlock_t* lock) {
    return of(lock).mark_.load(std::memory_order_relaxed) == ours_;
  }

  static void init(pthread_spinlock_t* lock) {
    ::new (&of(lock)) replaced_spin;
    if (is_watched()) {
      valgrind::hide(&of(lock), sizeof(replaced_spin));
    }
  }
  void destroy() {
    lock_.~L();
    ::new (&lock_) L{};
    if (is_watched()) {
      valgrind::acquired(this);  // no thread may have acquired it before
      valgrind::released(this);
      valgrind::destroyed(this);
    }
  }
  void lock() {
    lock_.lock();
    record_acquisition();
  }
  bool try_lock() {
    const bool acquired = lock_.try_lock();
    if (acquired) {
      record_acquisition();
    }
    return acquired;
  }
  void unlock() {
    if (is_watched()) [[unlikely]] {
      valgrind::released(this);
    }
    lock_.unlock();
  }

 private:
  static constexpr std::uint16_t ours_ = 0x4c57;

  void record_acquisition() {
    if (is_watched()) [[unlikely]] {
      valgrind::acquired(this);
    }
    count(event::spin_locked);
  }

  alignas(alignof(L) > 2 ? alignof(L) : 2) L lock_{};
  std::atomic<std::uint16_t> mark_{ours_};
};

template <class L>
inline constexpr bool is_library_lock = false;
template <class Env>
inline constexpr bool is_library_lock<libc_mutex<Env>> = true;

using spin = replaced_spin<chosen_lock>;
static_assert(!spin::fits || sizeof(spin) == sizeof(pthread_spinlock_t));

/// Returns true if spin locks that this process initialises are ours.
bool replaces_spin_locks() { return spin::fits && spins.get() == spin_mode::exclusive; }

bool is_left_to_library(pthread_spinlock_t* lock) {
  return !replaces_spin_locks() || !spin::is_ours(lock);
}

/// Warns if the algorithm does not fit. The row `pthread` uses the C library's spin locks silently.
[[gnu::constructor]] void warn_if_too_large() {
  if (!spin::fits && !is_library_lock<chosen_lock> && spins.get() == spin_mode::exclusive) {
    native_env::complain("this lock does not fit into a pthread_spinlock_t; ",
                         "spin locks stay the C library's");
  }
}

}  // namespace
}  // namespace lockwright::preload

using namespace lockwright::preload;

extern "C" {

int lockwright_spin_init(pthread_spinlock_t* lock, int shared) noexcept {
  if (!replaces_spin_locks() || shared != PTHREAD_PROCESS_PRIVATE) {
    return real.spin_init(lock, shared);
  }
  spin::init(lock);
  return 0;
}

int lockwright_spin_destroy(pthread_spinlock_t* lock) noexcept {
  if (is_left_to_library(lock)) {
    return real.spin_destroy(lock);
  }
  spin::of(lock).destroy();
  return 0;
}

int lockwright_spin_lock(pthread_spinlock_t* lock) noexcept {
  if (is_left_to_library(lock)) {
    return real.spin_lock(lock);
  }
  spin::of(lock).lock();
  return 0;
}

int lockwright_spin_trylock(pthread_spinlock_t* lock) noexcept {
  if (is_left_to_library(lock)) {
    return real.spin_trylock(lock);
  }
  return spin::of(lock).try_lock() ? 0 : EBUSY;
}

int lockwright_spin_unlock(pthread_spinlock_t* lock) noexcept {
  if (is_left_to_library(lock)) {
    return real.spin_unlock(lock);
  }
  spin::of(lock).unlock();
  return 0;
}

}  // extern "C"

#define SPIN_FUNCTION(name)                                                       \
  VERSIONED_DEFAULT(lockwright_spin_##name, "pthread_spin_" #name, "GLIBC_2.34"); \
  VERSIONED_OLD(lockwright_spin_##name, old, "pthread_spin_" #name, BASE_VERSION)

SPIN_FUNCTION(init);
SPIN_FUNCTION(destroy);
SPIN_FUNCTION(lock);
SPIN_FUNCTION(trylock);
SPIN_FUNCTION(unlock);
