// A POSIX mutex whose lock is not the C library's, inside the program's own
// pthread_mutex_t.
#pragma once

#include <errno.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <type_traits>

#include "interpose/deadline.hpp"
#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "interpose/thread_number.hpp"
#include "lockwright/lock.hpp"
#include "preload/counting.hpp"
#include "preload/fork.hpp"
#include "preload/kind.hpp"
#include "preload/library_wait.hpp"
#include "preload/lock_until.hpp"
#include "preload/metrics.hpp"
#include "preload/poll_library.hpp"
#include "preload/waiter_types.hpp"
#include "preload/watch.hpp"

namespace lockwright::preload {

using interpose::deadline_clock;
using interpose::found_thread_number;
using interpose::is_known;
using interpose::is_valid;
using interpose::real;
using interpose::thread_number;

/// The layout, over the C library's:
///
///   bytes | meaning                                              | written by
///   0-7   | waiters that unlock grants                           | see signalled_queue
///   8-11  | owner: thread_number() of the holder, where          | the holder
///         | debuggers look for it; 0 when free                   |
///   12-15 | serial of the holder, for types that check it        | the holder
///   16-19 | kind; bits 31-16: generation; bits 15-10: algorithm, | initialisation, adopt(),
///         | if the library has several; bit 2: known to tools    | the holder
///   20-23 | bit 31: counted; bits 30-21: waiters of condition    | the holder, adopt()
///         | variables; bits 20-0: how often a recursive mutex    |
///         | was locked again                                     |
///   24-39 | the lock                                             | the algorithm
///
/// A mutex that is zero but for the kind word, as the static initialisers leave it, is unlocked
/// and has never been used. `Lock` contains the lock and is passed the kind word: `inline_lock`,
/// for one algorithm, ignores it; `lock_variant` reads the algorithm from it.
template <class Lock>
class replaced_mutex {
 public:
  using object = pthread_mutex_t;

  static bool waiters_park(pthread_mutex_t* mutex) {
    return of(mutex).with_lock([]<class L>(replaced_mutex&, L&) { return L::traits.parks(); });
  }

  static replaced_mutex& of(pthread_mutex_t* mutex) {
    return *reinterpret_cast<replaced_mutex*>(mutex);
  }

  static int init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
    int type = PTHREAD_MUTEX_DEFAULT;
    if (attributes != nullptr) {
      if (wants_library(attributes)) {
        return real.mutex_init(mutex, attributes);
      }
      pthread_mutexattr_gettype(attributes, &type);
    }
    construct(mutex, static_cast<kind_word>(type));
    return 0;
  }

  static int destroy(pthread_mutex_t* mutex) {
    replaced_mutex& self = prepared(mutex);
    if (is_library(self.kind())) {
      return real.mutex_destroy(mutex);
    }
    if (self.owner_.load(std::memory_order_relaxed) != 0 || (self.recursion_ & waiters) != 0) {
      return EBUSY;
    }
    if (Lock::is_known(self.kind())) {
      self.with_lock([](replaced_mutex&, auto& lock) { destruct(lock); });
    }
    if ((self.kind() & known_to_tool) != 0) {
      valgrind::destroyed(mutex);
      valgrind::show(mutex, sizeof *mutex);
    }
    self.kind_.store(destroyed, std::memory_order_relaxed);
    return 0;
  }

  // The fast paths are inlined into the entry points.

  [[gnu::always_inline]] static int lock(pthread_mutex_t* mutex) {
    const kind_word kind = of(mutex).kind();
    return locks_on_fast_path(kind) ? lock_fast(mutex, kind, LOCKWRIGHT_CALLER)
                                    : lock_slow(mutex, LOCKWRIGHT_CALLER);
  }

  [[gnu::always_inline]] static int trylock(pthread_mutex_t* mutex) {
    const kind_word kind = of(mutex).kind();
    return takes_fast_path(kind) ? trylock_fast(mutex, kind) : trylock_slow(mutex);
  }

  [[gnu::always_inline]] static int unlock(pthread_mutex_t* mutex) {
    const kind_word kind = of(mutex).kind();
    return takes_fast_path(kind) ? unlock_fast(mutex, kind) : unlock_slow(mutex);
  }

  /// As lock(), but the caller never parks or yields: it queues as the algorithm prescribes, and
  /// polls.
  [[gnu::always_inline]] static int busylock(pthread_mutex_t* mutex) {
    if (is_library(of(mutex).kind())) {
      bool waited = false;
      return counted_library(poll_library(mutex, waited));
    }
    must_not_park = true;
    const int result = lock(mutex);
    must_not_park = false;
    return result;
  }

  [[gnu::always_inline]] static int clocklock(pthread_mutex_t* mutex, deadline_clock clock,
                                              const timespec* deadline) {
    return clocklock_from(mutex, clock, deadline, LOCKWRIGHT_CALLER);
  }

  static int clocklock_from(pthread_mutex_t* mutex, deadline_clock clock, const timespec* deadline,
                            std::uint64_t caller) {
    replaced_mutex& self = prepared(mutex);
    if (is_library(self.kind())) {
      return counted_library(lock_library_until(mutex, clock, deadline));
    }
    if (!is_known(clock.id)) {
      return EINVAL;
    }
    int result = self.trylock_uncounted();
    if (result != EBUSY) {
      return result;
    }
    if (self.is_held_by_this_thread()) {
      return EDEADLK;
    }
    if (!is_valid(*deadline)) {
      return EINVAL;
    }
    const measured_wait wait(caller);
    const native_env::awaiting sleep(&self);
    if (!self.with_lock([clock, deadline](replaced_mutex& in, auto& lock) {
          return lock_until(lock, in.signalled_, clock, *deadline);
        })) {
      return ETIMEDOUT;
    }
    self.template record_acquisition<any_type>(arrival::contended);
    return 0;
  }

  /// Returns 0, or the error of a condition variable wait by the caller with this mutex.
  static int may_wait(pthread_mutex_t* mutex) {
    replaced_mutex& self = prepared(mutex);
    return !is_library(self.kind()) && knows_owner(self.kind()) && !self.is_held_by_this_thread()
               ? EPERM
               : 0;
  }

  static bool is_left_to_library(pthread_mutex_t* mutex) { return is_library(of(mutex).kind()); }

  /// Returns true if the calling thread holds the mutex. Relaxed: only the caller could have
  /// stored its own number.
  static bool is_held_by_caller(pthread_mutex_t* mutex) {
    return of(mutex).owner_.load(std::memory_order_relaxed) == thread_number();
  }

  /// Returns the signalled waiters; null for a mutex that is left to the C library.
  static signalled_queue* signalled(pthread_mutex_t* mutex) {
    replaced_mutex& self = of(mutex);
    return is_library(self.kind()) ? nullptr : &self.signalled_;
  }

  /// Returns true if the caller has locked a recursive mutex more than once: a condition variable
  /// wait then does not release it, as in the C library.
  static bool stays_locked_in_wait(pthread_mutex_t* mutex) {
    replaced_mutex& self = of(mutex);
    return !is_library(self.kind()) && type_of(self.kind()) == recursive && self.depth() != 0;
  }

  /// Unlocks once, for a condition variable wait. Returns 0 or an error number. Sets `is_counted`
  /// if the mutex now counts the caller as a waiter and refuses to be destroyed.
  static int release(pthread_mutex_t* mutex, bool& is_counted) {
    replaced_mutex& self = of(mutex);
    if (is_library(self.kind())) {
      return release_library(mutex, is_counted, real.mutex_unlock);
    }
    is_counted = self.count_waiter();
    if (self.depth() != 0) {
      --self.recursion_;
    } else if (self.owner_.load(std::memory_order_relaxed) != 0) {
      // Waiting with a free mutex is undefined, and harmless in the C library.
      self.with_lock([](replaced_mutex& held, auto& lock) {
        if constexpr (requires { lock.expect_signals(); }) {
          lock.expect_signals();
        }
        held.template release_lock<any_type>(lock);
      });
    }
    return 0;
  }

  /// Undoes release(), which set `is_counted`.
  static int reacquire(pthread_mutex_t* mutex, bool is_counted) {
    replaced_mutex& self = of(mutex);
    if (is_library(self.kind())) {
      return reacquire_library(mutex, is_counted);
    }
    if (self.is_held_by_this_thread()) {
      ++self.recursion_;
    } else {
      self.acquire();
      self.template record_owner<any_type>();
    }
    if (is_counted) {
      self.forget_waiter();
    }
    return 0;
  }

 protected:
  static void construct(pthread_mutex_t* mutex, kind_word kind) {
    ::new (static_cast<void*>(mutex)) replaced_mutex(kind | generation);
  }

  // Acquire pairs with the release in rearm_fast_path(): the offset of the caller's number is
  // known.
  [[gnu::always_inline]] static bool takes_fast_path(kind_word kind) {
    return is_plain(kind, fast_path_kind.load(std::memory_order_acquire)) && Lock::is_known(kind);
  }

  /// The same for lock().
  [[gnu::always_inline]] static bool locks_on_fast_path(kind_word kind) {
    const auto& armed = Lock::is_two_step ? fast_path_kind : one_step_fast_path_kind;
    return is_plain(kind, armed.load(std::memory_order_acquire)) && Lock::is_known(kind);
  }

  // Without the attribute gcc puts some of these out of line.

  [[gnu::always_inline]] static int lock_fast(pthread_mutex_t* mutex, kind_word kind,
                                              std::uint64_t caller) {
    return of(mutex).lock_.with_lock(
        kind, of(mutex),
        [caller]<class L>(replaced_mutex& self, L& lock) __attribute__((always_inline)) {
          if constexpr (TwoStepLock<L>) {
            if (!lock.try_lock()) [[unlikely]] {
              return lock_contended(self, lock, caller);
            }
            self.template record_acquisition<plain>(arrival::uncontended);
          } else {
            self.template record_acquisition<plain>(lock_awaited(self, lock));
          }
          return 0;
        });
  }

  /// Locks, and names the mutex in the system calls of a waiter that sleeps.
  template <class L>
  [[gnu::always_inline]] static arrival lock_awaited(replaced_mutex& self, L& lock) {
    if constexpr (L::traits.parks()) {
      const native_env::awaiting sleep(&self);
      return lock.lock();
    } else {
      return lock.lock();
    }
  }

  /// Out of line, so that the fast path saves no registers, for which its atomic operation would
  /// wait.
  template <class L>
  [[gnu::noinline]] static int lock_contended(replaced_mutex& self, L& lock, std::uint64_t caller) {
    const measured_wait wait(caller);
    const native_env::awaiting sleep(&self);
    self.template record_acquisition<plain>(lock.wait_and_lock());
    return 0;
  }

  [[gnu::always_inline]] static int trylock_fast(pthread_mutex_t* mutex, kind_word kind) {
    return of(mutex).lock_.with_lock(
        kind, of(mutex), [](replaced_mutex& self, auto& lock) __attribute__((always_inline)) {
          if (lock.try_lock()) {
            self.template record_acquisition<plain>(arrival::uncontended);
            return 0;
          }
          count(event::trylock_failed);
          return EBUSY;
        });
  }

  [[gnu::always_inline]] static int unlock_fast(pthread_mutex_t* mutex, kind_word kind) {
    return of(mutex).lock_.with_lock(
        kind, of(mutex), [](replaced_mutex& self, auto& lock) __attribute__((always_inline)) {
          // Unlocking a free mutex is undefined, and harmless in the C library.
          if (self.owner_.load(std::memory_order_relaxed) != 0) [[likely]] {
            self.template release_lock<plain>(lock);
          }
          return 0;
        });
  }

  // The slow paths, for any mutex.

  [[gnu::noinline]] static int lock_slow(pthread_mutex_t* mutex, std::uint64_t caller) {
    replaced_mutex& self = prepared(mutex);
    if (is_library(self.kind())) {
      return counted_library(real.mutex_lock(mutex));
    }
    if (self.is_held_by_this_thread()) {
      return self.lock_recursively();
    }
    self.template record_acquisition<any_type>(self.acquire_measured(caller));
    return 0;
  }

  [[gnu::noinline]] static int trylock_slow(pthread_mutex_t* mutex) {
    replaced_mutex& self = prepared(mutex);
    if (is_library(self.kind())) {
      return counted_library(real.mutex_trylock(mutex));
    }
    int result = self.trylock_uncounted();
    if (result == EBUSY) {
      count(event::trylock_failed);
    }
    return result;
  }

  [[gnu::noinline]] static int unlock_slow(pthread_mutex_t* mutex) {
    replaced_mutex& self = prepared(mutex);
    if (is_library(self.kind())) {
      return real.mutex_unlock(mutex);
    }
    if (!knows_owner(self.kind())) {
      if (self.owner_.load(std::memory_order_relaxed) != 0) {
        self.release_lock();
      }
      return 0;
    }
    if (!self.is_held_by_this_thread()) {
      return EPERM;
    }
    if (self.depth() != 0) {
      --self.recursion_;
      return 0;
    }
    self.release_lock();
    return 0;
  }

  /// Acquire pairs with the release in adopt(), which makes the new lock visible.
  kind_word kind() const { return kind_.load(std::memory_order_acquire); }

  /// Changes the kind word, which other threads may be reading. Returns true if it was `expected`.
  bool change_kind(kind_word expected, kind_word wanted) {
    return kind_.compare_exchange_strong(expected, wanted, std::memory_order_acq_rel,
                                         std::memory_order_relaxed);
  }

  /// Repairs the mutex at its first use after a fork: drops the waiters of the parent. A held
  /// mutex stays held, by the thread that is entitled to unlock it. One that was being acquired or
  /// released becomes free: no thread is in its critical section. The destructor of a lock waits
  /// for no thread, so it can free here what the lock has allocated.
  [[gnu::noinline]] void adopt() {
    native_env::register_caller();  // may allocate, thus lock, thus recurse
    adopting.lock();
    const kind_word kind = this->kind();
    if (is_stale(kind, generation)) {
      with_lock([](replaced_mutex&, auto& lock) {
        destruct(lock);
        ::new (&lock) std::remove_reference_t<decltype(lock)>{};
      });
      recursion_ &= ~waiters;
      const std::uint32_t owner = owner_.load(std::memory_order_relaxed);
      if (owner != 0) {
        acquire();
        if (owner == number_before_fork) {
          owner_.store(number_after_fork, std::memory_order_relaxed);
        }
      }
      kind_.store((this->kind() & ~generation_bits) | generation, std::memory_order_release);
    }
    adopting.unlock();
  }

 private:
  static constexpr std::uint32_t counted = std::uint32_t{1} << 31;
  static constexpr std::uint32_t one_waiter = std::uint32_t{1} << 21;
  static constexpr std::uint32_t max_recursion = one_waiter - 1;
  static constexpr std::uint32_t waiters = counted - one_waiter;

  /// Returns how often the holder has locked a recursive mutex beyond the first time.
  [[nodiscard]] std::uint32_t depth() const { return recursion_ & max_recursion; }

  /// Only the holder changes the count, so it needs no atomic update. Returns false if the
  /// caller is not the holder, or if no more waiters can be counted: destroy() may then miss it.
  bool count_waiter() {
    if (owner_.load(std::memory_order_relaxed) != thread_number() ||
        (recursion_ & waiters) == waiters) {
      return false;
    }
    recursion_ += one_waiter;
    return true;
  }

  /// Undoes count_waiter(), for the holder. In the child of a fork during the wait, adopt() may
  /// already have done so.
  void forget_waiter() {
    if ((recursion_ & waiters) != 0) {
      recursion_ -= one_waiter;
    }
  }

  explicit replaced_mutex(kind_word kind) : kind_(kind) { check_layout(); }

  /// Returns the mutex, ready for the slow path.
  static replaced_mutex& prepared(pthread_mutex_t* mutex) {
    replaced_mutex& self = of(mutex);
    if (is_watched()) [[unlikely]] {
      self.hide_from_tool();
    }
    if (is_stale(self.kind(), generation)) [[unlikely]] {
      self.adopt();
    }
    return self;
  }

  /// Hides the mutex from a race detector until the first acquisition is announced to it.
  [[gnu::noinline]] void hide_from_tool() {
    if (!is_library(kind()) && (kind() & known_to_tool) == 0) {
      valgrind::hide(this, sizeof(pthread_mutex_t));
    }
  }

  [[gnu::noinline]] void announce_acquisition() {
    kind_.fetch_or(known_to_tool, std::memory_order_relaxed);
    valgrind::acquired(this);
  }

  /// The mutex types that a function handles: the plain ones, which do not check the holder, or
  /// any. Decided once, at the entry point.
  enum mutex_types : bool { plain, any_type };

  template <mutex_types Types>
  void record_owner() {
    owner_.store(Types == plain ? found_thread_number() : thread_number(),
                 std::memory_order_relaxed);
    if (Types == any_type && knows_owner(kind())) {
      serial_.store(native_env::serial(), std::memory_order_relaxed);
    }
    if (Types == any_type && is_watched()) [[unlikely]] {
      announce_acquisition();
    }
  }

  template <mutex_types Types>
  void record_acquisition(arrival found) {
    record_owner<Types>();
    if constexpr (counting) {
      count(event::acquired);
      if (found == arrival::contended) {
        count(event::contended);
      }
      if ((recursion_ & counted) == 0) {
        recursion_ |= counted;
        count(event::mutex_used);
      }
    }
  }

  template <mutex_types Types, class L>
  [[gnu::always_inline]] void release_lock(L& lock) {
    if (!signalled_.empty()) [[unlikely]] {
      release_and_grant<Types>(lock);
      return;
    }
    clear_owner<Types>();
    lock.unlock();
  }

  void release_lock() {
    with_lock([](replaced_mutex& self, auto& lock) { self.template release_lock<any_type>(lock); });
  }

  template <mutex_types Types, class L>
  [[gnu::noinline]] void release_and_grant(L& lock) {
    signalled_.grant_first_after([this] { clear_owner<Types>(); }, [&lock] { lock.unlock(); });
  }

  template <mutex_types Types>
  void clear_owner() {
    if (Types == any_type && is_watched()) [[unlikely]] {
      valgrind::released(this);
    }
    if (Types == any_type && knows_owner(kind())) {
      serial_.store(0, std::memory_order_relaxed);
    }
    owner_.store(0, std::memory_order_relaxed);
  }

  /// Returns true if the type checks the holder and the caller is it. Relaxed: only the caller
  /// could have stored its own serial.
  bool is_held_by_this_thread() const {
    return knows_owner(kind()) && serial_.load(std::memory_order_relaxed) == native_env::serial();
  }

  /// Returns call(*this, the lock with its own type).
  template <class Call>
  auto with_lock(Call call) {
    return lock_.with_lock(kind(), *this, call);
  }

  /// Frees what the lock has allocated; no thread uses it any more.
  template <class L>
  static void destruct(L& lock) {
    lock.~L();
  }

  arrival acquire() {
    return with_lock([](replaced_mutex& self, auto& lock) { return lock_awaited(self, lock); });
  }

  arrival acquire_measured(std::uint64_t caller) {
    if (!measures_waits()) [[likely]] {
      return acquire();
    }
    return with_lock([caller](replaced_mutex& self, auto& lock) {
      if (lock.try_lock()) {
        return arrival::uncontended;
      }
      const measured_wait wait(caller);
      return lock_awaited(self, lock);
    });
  }

  int lock_recursively() {
    if (type_of(kind()) == errorcheck) {
      return EDEADLK;
    }
    if (depth() == max_recursion) {
      return EAGAIN;
    }
    ++recursion_;
    count(event::acquired);
    return 0;
  }

  static int counted_library(int result) {
    if (result == 0 || result == EOWNERDEAD) {
      count(event::left_to_library);
    }
    return result;
  }

  int trylock_uncounted() {
    if (is_held_by_this_thread()) {
      return type_of(kind()) == errorcheck ? EBUSY : lock_recursively();
    }
    if (!with_lock([](replaced_mutex&, auto& lock) { return lock.try_lock(); })) {
      return EBUSY;
    }
    record_acquisition<any_type>(arrival::uncontended);
    return 0;
  }

  signalled_queue signalled_{};
  std::atomic<std::uint32_t> owner_{0};
  std::atomic<std::uint32_t> serial_{0};
  std::atomic<kind_word> kind_;
  std::uint32_t recursion_ = 0;
  alignas(8) Lock lock_{};

  static constexpr void check_layout() {
    static_assert(sizeof(replaced_mutex) <= sizeof(pthread_mutex_t));
    static_assert(offsetof(replaced_mutex, owner_) == owner_offset);
    static_assert(offsetof(replaced_mutex, kind_) == kind_offset);
  }
};

}  // namespace lockwright::preload
