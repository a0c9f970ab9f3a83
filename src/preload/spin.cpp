// pthread_spin_*: the entry points. Unless LOCKWRIGHT_SPIN says otherwise all go
// to the C library, and with it those of process-shared locks still do.
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
using interpose::spin_way;
using interpose::spins;

namespace {

/// The layout, over the four bytes of a pthread_spinlock_t:
///
///   bytes | meaning                                       | written by
///   0-1   | the lock                                      | its algorithm
///   2-3   | the mark of ours: the C library's spin locks, | initialisation
///         | which count down from 1 or up from 0, never   |
///         | come near it                                  |
///
/// Whose a lock is has to be seen from the lock alone: a process-shared one is
/// the C library's, and may have been initialised by another process. So an
/// algorithm that needs more than half of the bytes cannot be put here.
template <class L>
class own_spin {
 public:
  static constexpr bool fits = sizeof(L) <= 2 && alignof(L) <= 2;

  static own_spin& of(pthread_spinlock_t* lock) {
    return *reinterpret_cast<own_spin*>(const_cast<int*>(lock));
  }

  static bool is_ours(pthread_spinlock_t* lock) {
    return of(lock).mark_.load(std::memory_order_relaxed) == ours_;
  }

  static void init(pthread_spinlock_t* lock) {
    ::new (&of(lock)) own_spin;
    if (is_watched()) {
      valgrind::hide(&of(lock), sizeof(own_spin));
    }
  }
  void destroy() {
    lock_.~L();
    ::new (&lock_) L{};
    if (is_watched()) {
      valgrind::acquired(this);  // no thread may have until now
      valgrind::released(this);
      valgrind::destroyed(this);
    }
  }
  void lock() {
    lock_.lock();
    entered();
  }
  bool try_lock() {
    const bool taken = lock_.try_lock();
    if (taken) {
      entered();
    }
    return taken;
  }
  void unlock() {
    if (is_watched()) [[unlikely]] {
      valgrind::released(this);
    }
    lock_.unlock();
  }

 private:
  static constexpr std::uint16_t ours_ = 0x4c57;

  void entered() {
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

using spin = own_spin<chosen_lock>;
static_assert(!spin::fits || sizeof(spin) == sizeof(pthread_spinlock_t));

/// Whether the spin locks that are initialised in this process are ours.
bool redirects() { return spin::fits && spins.get() == spin_way::exclusive; }

bool is_left_to_library(pthread_spinlock_t* lock) { return !redirects() || !spin::is_ours(lock); }

/// Of the C library's mutex its spin locks are the counterpart.
[[gnu::constructor]] void warn_if_too_large() {
  if (!spin::fits && !is_library_lock<chosen_lock> && spins.get() == spin_way::exclusive) {
    native_env::complain("this lock does not fit into a pthread_spinlock_t; ",
                         "spin locks stay the C library's");
  }
}

}  // namespace
}  // namespace lockwright::preload

using namespace lockwright::preload;

extern "C" {

int lockwright_spin_init(pthread_spinlock_t* lock, int shared) noexcept {
  if (!redirects() || shared != PTHREAD_PROCESS_PRIVATE) {
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
