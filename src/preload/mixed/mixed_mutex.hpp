// A POSIX mutex with the algorithm that the plan assigns to it.
#pragma once

#include <pthread.h>
#include <time.h>

#include "preload/library_mutex.hpp"
#include "preload/mixed/algorithm.hpp"
#include "preload/mixed/lock_variant.hpp"
#include "preload/mixed/plan.hpp"
#include "preload/replaced_mutex.hpp"

namespace lockwright::preload {

using interpose::deadline_clock;
using interpose::real;

/// The algorithm is chosen when the mutex is initialised or, after a static initialiser, when it is
/// first used; from then on it does not change. If it is the C library's, library_mutex performs
/// every operation, else replaced_mutex does.
///
/// Invariant ONE-CHOOSER: a kind word leaves unchosen by a compare-and-swap, so one thread consults
/// the plan, which counts mutexes. It waits for no thread until it has stored the algorithm. A
/// thread that reads being_chosen waits for it; in the child of a fork the choosing thread may be
/// missing, and the choice is repeated.
class mixed_mutex : public replaced_mutex<lock_variant> {
  using replaced = replaced_mutex<lock_variant>;

 public:
  static mixed_mutex& of(pthread_mutex_t* mutex) { return reinterpret_cast<mixed_mutex&>(*mutex); }

  static bool waiters_park(pthread_mutex_t* mutex) {
    return is_library_mutex(mutex) || replaced::waiters_park(mutex);
  }

  // In functions that are always inline the return address is that of the entry point.

  [[gnu::always_inline]] static int init(pthread_mutex_t* mutex,
                                         const pthread_mutexattr_t* attributes) {
    return init_from(mutex, attributes, __builtin_return_address(0));
  }

  static int destroy(pthread_mutex_t* mutex) {
    return is_library_mutex(mutex) ? library_mutex::destroy(mutex) : replaced::destroy(mutex);
  }

  [[gnu::always_inline]] static int lock(pthread_mutex_t* mutex) {
    const kind_word kind = of(mutex).kind();
    return locks_on_fast_path(kind)        ? lock_fast(mutex, kind, LOCKWRIGHT_CALLER)
           : library_takes_fast_path(kind) ? library_mutex::lock(mutex)
                                           : lock_by_plan(mutex, LOCKWRIGHT_CALLER);
  }

  [[gnu::always_inline]] static int trylock(pthread_mutex_t* mutex) {
    const kind_word kind = of(mutex).kind();
    return takes_fast_path(kind)           ? trylock_fast(mutex, kind)
           : library_takes_fast_path(kind) ? library_mutex::trylock(mutex)
                                           : trylock_by_plan(mutex, __builtin_return_address(0));
  }

  [[gnu::always_inline]] static int unlock(pthread_mutex_t* mutex) {
    const kind_word kind = of(mutex).kind();
    return takes_fast_path(kind)           ? unlock_fast(mutex, kind)
           : library_takes_fast_path(kind) ? library_mutex::unlock(mutex)
                                           : unlock_by_plan(mutex, __builtin_return_address(0));
  }

  [[gnu::always_inline]] static int busylock(pthread_mutex_t* mutex) {
    ensure_algorithm(mutex, __builtin_return_address(0));
    return is_library_mutex(mutex) ? library_mutex::busylock(mutex) : replaced::busylock(mutex);
  }

  [[gnu::always_inline]] static int clocklock(pthread_mutex_t* mutex, deadline_clock clock,
                                              const timespec* deadline) {
    ensure_algorithm(mutex, __builtin_return_address(0));
    return is_library_mutex(mutex) ? library_mutex::clocklock(mutex, clock, deadline)
                                   : replaced::clocklock(mutex, clock, deadline);
  }

  static int may_wait(pthread_mutex_t* mutex) {
    ensure_algorithm(mutex, __builtin_return_address(0));
    return is_library_mutex(mutex) ? library_mutex::may_wait(mutex) : replaced::may_wait(mutex);
  }

  static signalled_queue* signalled(pthread_mutex_t* mutex) {
    return is_library_mutex(mutex) ? library_mutex::signalled(mutex) : replaced::signalled(mutex);
  }

  static bool stays_locked_in_wait(pthread_mutex_t* mutex) {
    return is_library_mutex(mutex) ? library_mutex::stays_locked_in_wait(mutex)
                                   : replaced::stays_locked_in_wait(mutex);
  }

  static int release(pthread_mutex_t* mutex, bool& is_counted) {
    return is_library_mutex(mutex) ? library_mutex::release(mutex, is_counted)
                                   : replaced::release(mutex, is_counted);
  }

  static int reacquire(pthread_mutex_t* mutex, bool is_counted) {
    return is_library_mutex(mutex) ? library_mutex::reacquire(mutex, is_counted)
                                   : replaced::reacquire(mutex, is_counted);
  }

 private:
  /// Returns true for a mutex on the fast path to which the plan gives the C library's algorithm.
  [[gnu::always_inline]] static bool library_takes_fast_path(kind_word kind) {
    return is_plain(kind, fast_path_kind.load(std::memory_order_acquire)) &&
           algorithm_of(kind) == algorithm::c_library;
  }

  /// Returns true if the plan gives the mutex the C library's algorithm; replaced_mutex handles
  /// those left to the C library because of their kind.
  static bool is_library_mutex(pthread_mutex_t* mutex) {
    const kind_word kind = of(mutex).kind();
    return !is_library(kind) && algorithm_of(kind) == algorithm::c_library;
  }

  [[gnu::noinline]] static int init_from(pthread_mutex_t* mutex,
                                         const pthread_mutexattr_t* attributes,
                                         const void* caller) {
    if (attributes != nullptr && wants_library(attributes)) {
      return real.mutex_init(mutex, attributes);
    }
    const algorithm chosen = current_plan().choose({mutex, caller, true});
    if (chosen != algorithm::c_library) {
      int type = PTHREAD_MUTEX_DEFAULT;
      if (attributes != nullptr) {
        pthread_mutexattr_gettype(attributes, &type);
      }
      construct(mutex, static_cast<kind_word>(type) | bits_of(chosen));
      return 0;
    }
    const int result = library_mutex::init(mutex, attributes);
    mixed_mutex& self = of(mutex);
    const kind_word kind = self.kind();
    if (result == 0) {
      self.change_kind(kind, kind | bits_of(chosen) | generation);
    }
    return result;
  }

  [[gnu::noinline]] static int lock_by_plan(pthread_mutex_t* mutex, std::uint64_t caller) {
    ensure_algorithm(mutex, reinterpret_cast<const void*>(caller));
    return is_library_mutex(mutex) ? library_mutex::lock_from(mutex, caller)
                                   : lock_slow(mutex, caller);
  }

  [[gnu::noinline]] static int trylock_by_plan(pthread_mutex_t* mutex, const void* caller) {
    ensure_algorithm(mutex, caller);
    return is_library_mutex(mutex) ? library_mutex::trylock(mutex) : trylock_slow(mutex);
  }

  [[gnu::noinline]] static int unlock_by_plan(pthread_mutex_t* mutex, const void* caller) {
    ensure_algorithm(mutex, caller);
    return is_library_mutex(mutex) ? library_mutex::unlock(mutex) : unlock_slow(mutex);
  }

  /// Ensures that the mutex has an algorithm and is adopted by this process.
  static void ensure_algorithm(pthread_mutex_t* mutex, const void* caller) {
    mixed_mutex& self = of(mutex);
    const kind_word kind = self.kind();
    if (!is_library(kind) && (is_stale(kind, generation) || !has_algorithm(kind))) [[unlikely]] {
      self.choose_algorithm(caller);
    }
  }

  static bool has_algorithm(kind_word kind) { return algorithm_of(kind) >= algorithm::c_library; }

  [[gnu::noinline]] void choose_algorithm(const void* caller) {
    for (kind_word kind = this->kind(); !is_library(kind); kind = this->kind()) {
      if (is_stale(kind, generation)) {
        mark_adopted(kind);
      } else if (algorithm_of(kind) == algorithm::unchosen) {
        choose(kind, caller);
      } else if (algorithm_of(kind) == algorithm::being_chosen) {
        native::yield();
      } else {
        return;
      }
    }
  }

  /// Marks a mutex without a replaced lock as adopted: the C library's functions repair its state.
  void mark_adopted(kind_word kind) {
    if (lock_variant::is_known(kind)) {
      adopt();
      return;
    }
    kind_word wanted = (kind & ~generation_bits) | generation;
    if (!has_algorithm(kind)) {
      wanted &= ~algorithm_bits;
    }
    change_kind(kind, wanted);
  }

  void choose(kind_word kind, const void* caller) {
    plan& current = current_plan();
    const init_site site =
        current.locate({this, caller, false});  // may wait for the dynamic linker
    if (change_kind(kind, kind | bits_of(algorithm::being_chosen))) {
      const algorithm chosen = current.choose(site);
      // Other threads now change no bit but known_to_tool.
      kind = this->kind();
      while (!change_kind(kind, (kind & ~algorithm_bits) | bits_of(chosen))) {
        kind = this->kind();
      }
    }
  }

  static constexpr void check_layout() {
    static_assert(sizeof(mixed_mutex) <= sizeof(pthread_mutex_t));
  }
};

}  // namespace lockwright::preload
