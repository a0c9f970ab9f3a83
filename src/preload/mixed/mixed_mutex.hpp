// A POSIX mutex that has an algorithm of its own, by the plan.
#pragma once

#include <pthread.h>
#include <time.h>

#include "algorithm.hpp"
#include "library_mutex.hpp"
#include "own_mutex.hpp"
#include "plan.hpp"
#include "several.hpp"

namespace lockwright::preload {

/// The algorithm is chosen when the mutex is initialised, or, where a static
/// initialiser did that, when it is first used; from then on it is the mutex's
/// own. If it is the C library's, every operation goes to library_mutex, and
/// to own_mutex otherwise.
///
/// Invariant ONE-CHOOSER: a kind word leaves unchosen by a compare-and-swap, so
/// one thread asks the plan, which counts. It waits for nobody until it has
/// written the answer. Whoever meets being_chosen waits for it; in the child of
/// a fork that thread may be missing, and the choice is made again.
class mixed_mutex : public own_mutex<several> {
  using own = own_mutex<several>;

 public:
  static mixed_mutex& of(pthread_mutex_t* mutex) { return reinterpret_cast<mixed_mutex&>(*mutex); }

  static bool waiters_sleep(pthread_mutex_t* mutex) {
    return is_the_librarys(mutex) || own::waiters_sleep(mutex);
  }

  // In functions that are always inline the return address is that of the entry point.

  [[gnu::always_inline]] static int init(pthread_mutex_t* mutex,
                                         const pthread_mutexattr_t* attributes) {
    return init_from(mutex, attributes, __builtin_return_address(0));
  }

  static int destroy(pthread_mutex_t* mutex) {
    return is_the_librarys(mutex) ? library_mutex::destroy(mutex) : own::destroy(mutex);
  }

  [[gnu::always_inline]] static int lock(pthread_mutex_t* mutex) {
    const kind_word kind = of(mutex).kind();
    return takes_short_way(kind)         ? lock_shortly(mutex, kind)
           : takes_short_way_there(kind) ? library_mutex::lock(mutex)
                                         : lock_slowly(mutex, __builtin_return_address(0));
  }

  [[gnu::always_inline]] static int trylock(pthread_mutex_t* mutex) {
    const kind_word kind = of(mutex).kind();
    return takes_short_way(kind)         ? trylock_shortly(mutex, kind)
           : takes_short_way_there(kind) ? library_mutex::trylock(mutex)
                                         : trylock_slowly(mutex, __builtin_return_address(0));
  }

  [[gnu::always_inline]] static int unlock(pthread_mutex_t* mutex) {
    const kind_word kind = of(mutex).kind();
    return takes_short_way(kind)         ? unlock_shortly(mutex, kind)
           : takes_short_way_there(kind) ? library_mutex::unlock(mutex)
                                         : unlock_slowly(mutex, __builtin_return_address(0));
  }

  [[gnu::always_inline]] static int busylock(pthread_mutex_t* mutex) {
    settle(mutex, __builtin_return_address(0));
    return is_the_librarys(mutex) ? library_mutex::busylock(mutex) : own::busylock(mutex);
  }

  [[gnu::always_inline]] static int clocklock(pthread_mutex_t* mutex, deadline_clock clock,
                                              const timespec* deadline) {
    settle(mutex, __builtin_return_address(0));
    return is_the_librarys(mutex) ? library_mutex::clocklock(mutex, clock, deadline)
                                  : own::clocklock(mutex, clock, deadline);
  }

  static int may_wait(pthread_mutex_t* mutex) {
    settle(mutex, __builtin_return_address(0));
    return is_the_librarys(mutex) ? library_mutex::may_wait(mutex) : own::may_wait(mutex);
  }

  static waiter_line* line(pthread_mutex_t* mutex) {
    return is_the_librarys(mutex) ? library_mutex::line(mutex) : own::line(mutex);
  }

  static bool is_kept_by_wait(pthread_mutex_t* mutex) {
    return is_the_librarys(mutex) ? library_mutex::is_kept_by_wait(mutex)
                                  : own::is_kept_by_wait(mutex);
  }

  static int release(pthread_mutex_t* mutex, bool& is_counted) {
    return is_the_librarys(mutex) ? library_mutex::release(mutex, is_counted)
                                  : own::release(mutex, is_counted);
  }

  static int reacquire(pthread_mutex_t* mutex, bool is_counted) {
    return is_the_librarys(mutex) ? library_mutex::reacquire(mutex, is_counted)
                                  : own::reacquire(mutex, is_counted);
  }

 private:
  /// As takes_short_way(), to the C library by the plan.
  [[gnu::always_inline]] static bool takes_short_way_there(kind_word kind) {
    return is_plain(kind, short_way.load(std::memory_order_acquire)) &&
           algorithm_of(kind) == algorithm::c_library;
  }

  /// The C library's by the plan; what is left to it by its kind is own_mutex's affair.
  static bool is_the_librarys(pthread_mutex_t* mutex) {
    const kind_word kind = of(mutex).kind();
    return !is_library(kind) && algorithm_of(kind) == algorithm::c_library;
  }

  [[gnu::noinline]] static int init_from(pthread_mutex_t* mutex,
                                         const pthread_mutexattr_t* attributes,
                                         const void* caller) {
    if (attributes != nullptr && wants_library(attributes)) {
      return real.mutex_init(mutex, attributes);
    }
    const algorithm chosen = the_plan().choose({mutex, caller, true});
    if (chosen != algorithm::c_library) {
      int type = PTHREAD_MUTEX_DEFAULT;
      if (attributes != nullptr) {
        pthread_mutexattr_gettype(attributes, &type);
      }
      make(mutex, static_cast<kind_word>(type) | bits_of(chosen));
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

  [[gnu::noinline]] static int lock_slowly(pthread_mutex_t* mutex, const void* caller) {
    settle(mutex, caller);
    return is_the_librarys(mutex) ? library_mutex::lock(mutex) : lock_special(mutex);
  }

  [[gnu::noinline]] static int trylock_slowly(pthread_mutex_t* mutex, const void* caller) {
    settle(mutex, caller);
    return is_the_librarys(mutex) ? library_mutex::trylock(mutex) : trylock_special(mutex);
  }

  [[gnu::noinline]] static int unlock_slowly(pthread_mutex_t* mutex, const void* caller) {
    settle(mutex, caller);
    return is_the_librarys(mutex) ? library_mutex::unlock(mutex) : unlock_special(mutex);
  }

  /// Sees to it that the mutex has an algorithm and is in order for this process.
  static void settle(pthread_mutex_t* mutex, const void* caller) {
    mixed_mutex& self = of(mutex);
    const kind_word kind = self.kind();
    if (!is_library(kind) && (is_stale(kind, generation) || !has_algorithm(kind))) [[unlikely]] {
      self.settle_now(caller);
    }
  }

  static bool has_algorithm(kind_word kind) { return algorithm_of(kind) >= algorithm::c_library; }

  [[gnu::noinline]] void settle_now(const void* caller) {
    for (kind_word kind = this->kind(); !is_library(kind); kind = this->kind()) {
      if (is_stale(kind, generation)) {
        adopt_as(kind);
      } else if (algorithm_of(kind) == algorithm::unchosen) {
        choose(kind, caller);
      } else if (algorithm_of(kind) == algorithm::being_chosen) {
        native::yield();
      } else {
        return;
      }
    }
  }

  /// Of the parent's state of a mutex of the C library its own functions make what they can.
  void adopt_as(kind_word kind) {
    if (several::is_known(kind)) {
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
    plan& the = the_plan();
    const sighting seen{this, caller, false};
    const whereabouts where = the.locate(seen);  // may wait for the dynamic linker
    if (change_kind(kind, kind | bits_of(algorithm::being_chosen))) {
      const algorithm chosen = the.choose(where);
      // Nobody else changes it now, but for a tool's mark.
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
