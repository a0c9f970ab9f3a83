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
#include "interpose/real.hpp"
#include "interpose/thread_number.hpp"
#include "lockwright/lock.hpp"
#include "preload/counting.hpp"
#include "preload/fork.hpp"
#include "preload/kind.hpp"
#include "preload/library_wait.hpp"
#include "preload/lock_until.hpp"
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
///   0-7   | line of signalled waiters                            | see waiter_line
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
/// All zero but for the kind word, as the static initialisers leave it, is an
/// unlocked mutex that no thread has seen. `Lock` contains the lock, and is given
/// the kind word: `inline_lock`, of one algorithm, has no use for it, and `lock_variant`
/// reads there which one it is.
template <class Lock>
class replaced_mutex {
 public:
  using object = pthread_mutex_t;

  static bool waiters_sleep(pthread_mutex_t* mutex) {
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
    make(mutex, static_cast<kind_word>(type));
    return 0;
  }

  static int destroy(pthread_mutex_t* mutex) {
    replaced_mutex& self = adopted(mutex);
    if (is_library(self.kind())) {
      return real.mutex_destroy(mutex);
    }
    if (self.owner_.load(std::memory_order_relaxed) != 0 || (self.recursion_ & waiters) != 0) {
      return EBUSY;
    }
    if (Lock::is_known(self.kind())) {
      self.with_lock([](replaced_mutex&, auto& lock) { end(lock); });
    }
    if ((self.kind() & known_to_tool) != 0) {
      valgrind::destroyed(mutex);
      valgrind::show(mutex, sizeof *mutex);
    }
    self.kind_.store(destroyed, std::memory_order_relaxed);
    return 0;
  }

  // The fast paths, which are the entry points themselves: no call comes in between.

  [[gnu::always_inline]] static int lock(pthread_mutex_t* mutex) {
    const kind_word kind = of(mutex).kind();
    return takes_fast_path(kind) ? lock_fast(mutex, kind) : lock_slow(mutex);
  }

  [[gnu::always_inline]] static int trylock(pthread_mutex_t* mutex) {
    const kind_word kind = of(mutex).kind();
    return takes_fast_path(kind) ? trylock_fast(mutex, kind) : trylock_slow(mutex);
  }

  [[gnu::always_inline]] static int unlock(pthread_mutex_t* mutex) {
    const kind_word kind = of(mutex).kind();
    return takes_fast_path(kind) ? unlock_fast(mutex, kind) : unlock_slow(mutex);
  }

  /// As lock(), but the caller is never descheduled: it takes the place that the
  /// algorithm gives it, and polls there.
  static int busylock(pthread_mutex_t* mutex) {
    if (is_library(of(mutex).kind())) {
      bool waited = false;
      return counted_library(poll_library(mutex, waited));
    }
    stays_awake = true;
    const int result = lock(mutex);
    stays_awake = false;
    return result;
  }

  static int clocklock(pthread_mutex_t* mutex, deadline_clock clock, const timespec* deadline) {
    replaced_mutex& self = adopted(mutex);
    if (is_library(self.kind())) {
      return counted_library(lock_library_until(mutex, clock, deadline));
    }
    if (!is_known(clock.id)) {
      return EINVAL;
    }
    int result = self.trylock_quietly();
    if (result != EBUSY) {
      return result;
    }
    if (self.is_held_by_this_thread()) {
      return EDEADLK;
    }
    if (!is_valid(*deadline)) {
      return EINVAL;
    }
    if (!self.with_lock([clock, deadline](replaced_mutex&, auto& lock) {
          return lock_until(lock, clock, *deadline);
        })) {
      return ETIMEDOUT;
    }
    self.template entered<any_type>(arrival::contended);
    return 0;
  }

  /// 0, or why the caller may not wait on a condition variable with this mutex.
  static int may_wait(pthread_mutex_t* mutex) {
    replaced_mutex& self = adopted(mutex);
    return !is_library(self.kind()) && knows_owner(self.kind()) && !self.is_held_by_this_thread()
               ? EPERM
               : 0;
  }

  static bool is_left_to_library(pthread_mutex_t* mutex) { return is_library(of(mutex).kind()); }

  /// True if the calling thread holds it. Relaxed: only the caller could have
  /// stored its own number.
  static bool is_held_by_caller(pthread_mutex_t* mutex) {
    return of(mutex).owner_.load(std::memory_order_relaxed) == thread_number();
  }

  /// Where signalled waiters of this mutex line up; null if it has no place for them.
  static waiter_line* line(pthread_mutex_t* mutex) {
    replaced_mutex& self = of(mutex);
    return is_library(self.kind()) ? nullptr : &self.line_;
  }

  /// True if the caller has locked a recursive one more than once: a condition
  /// variable wait then does not give it up, as the C library's does not.
  static bool survives_wait(pthread_mutex_t* mutex) {
    replaced_mutex& self = of(mutex);
    return !is_library(self.kind()) && type_of(self.kind()) == recursive && self.depth() != 0;
  }

  /// For a condition variable wait: unlocks once. 0, or why the caller may not. Sets `is_counted`
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
      self.leave();
    }
    return 0;
  }

  /// Locks again what release() has unlocked, which set `is_counted`.
  static int reacquire(pthread_mutex_t* mutex, bool is_counted) {
    replaced_mutex& self = of(mutex);
    if (is_library(self.kind())) {
      return reacquire_library(mutex, is_counted);
    }
    if (self.is_held_by_this_thread()) {
      ++self.recursion_;
    } else {
      self.take();
      self.template record_owner<any_type>();
    }
    if (is_counted) {
      self.forget_waiter();
    }
    return 0;
  }

 protected:
  static void make(pthread_mutex_t* mutex, kind_word kind) {
    ::new (static_cast<void*>(mutex)) replaced_mutex(kind | generation);
  }

  // Acquire pairs with the release in rearm_fast_path(): where the caller's number lies is
  // known.
  [[gnu::always_inline]] static bool takes_fast_path(kind_word kind) {
    return is_plain(kind, fast_path_kind.load(std::memory_order_acquire)) && Lock::is_known(kind);
  }

  // Without the attribute gcc puts some of these out of line.

  [[gnu::always_inline]] static int lock_fast(pthread_mutex_t* mutex, kind_word kind) {
    return of(mutex).lock_.with_lock(
        kind, of(mutex), []<class L>(replaced_mutex& self, L& lock) __attribute__((always_inline)) {
          if constexpr (TwoStepLock<L>) {
            if (!lock.try_lock()) [[unlikely]] {
              return lock_contended(self, lock);
            }
            self.template entered<plain>(arrival::uncontended);
          } else {
            self.template entered<plain>(lock.lock());
          }
          return 0;
        });
  }

  /// Apart, so that the fast path need not save registers, which its atomic operation would wait
  /// for.
  template <class L>
  [[gnu::noinline]] static int lock_contended(replaced_mutex& self, L& lock) {
    self.template entered<plain>(lock.wait_and_lock());
    return 0;
  }

  [[gnu::always_inline]] static int trylock_fast(pthread_mutex_t* mutex, kind_word kind) {
    return of(mutex).lock_.with_lock(
        kind, of(mutex), [](replaced_mutex& self, auto& lock) __attribute__((always_inline)) {
          if (lock.try_lock()) {
            self.template entered<plain>(arrival::uncontended);
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
            self.template leave<plain>(lock);
          }
          return 0;
        });
  }

  // The slow paths, for any mutex.

  [[gnu::noinline]] static int lock_slow(pthread_mutex_t* mutex) {
    replaced_mutex& self = adopted(mutex);
    if (is_library(self.kind())) {
      return counted_library(real.mutex_lock(mutex));
    }
    if (self.is_held_by_this_thread()) {
      return self.lock_recursively();
    }
    self.template entered<any_type>(self.take());
    return 0;
  }

  [[gnu::noinline]] static int trylock_slow(pthread_mutex_t* mutex) {
    replaced_mutex& self = adopted(mutex);
    if (is_library(self.kind())) {
      return counted_library(real.mutex_trylock(mutex));
    }
    int result = self.trylock_quietly();
    if (result == EBUSY) {
      count(event::trylock_failed);
    }
    return result;
  }

  [[gnu::noinline]] static int unlock_slow(pthread_mutex_t* mutex) {
    replaced_mutex& self = adopted(mutex);
    if (is_library(self.kind())) {
      return real.mutex_unlock(mutex);
    }
    if (!knows_owner(self.kind())) {
      if (self.owner_.load(std::memory_order_relaxed) != 0) {
        self.leave();
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
    self.leave();
    return 0;
  }

  /// Acquire pairs with the release in adopt(): the lock that it left is seen.
  kind_word kind() const { return kind_.load(std::memory_order_acquire); }

  /// For a caller that may change the kind word while other threads read it: true if it was
  /// `expected`.
  bool change_kind(kind_word expected, kind_word wanted) {
    return kind_.compare_exchange_strong(expected, wanted, std::memory_order_acq_rel,
                                         std::memory_order_relaxed);
  }

  /// The first touch after a fork: drops the waiters of the parent. A mutex that
  /// was held stays held, by the thread that is entitled to unlock it. One that was just
  /// being taken or released becomes free: no thread is inside. The destructor of a
  /// lock waits for no thread, so it can give back here what the lock has outside.
  [[gnu::noinline]] void adopt() {
    native_env::register_caller();  // may allocate, thus lock, thus come here
    adopting.lock();
    const kind_word kind = this->kind();
    if (is_stale(kind, generation)) {
      with_lock([](replaced_mutex&, auto& lock) {
        end(lock);
        ::new (&lock) std::remove_reference_t<decltype(lock)>{};
      });
      recursion_ &= ~waiters;
      const std::uint32_t owner = owner_.load(std::memory_order_relaxed);
      if (owner != 0) {
        take();
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

  /// How often its holder has locked a recursive mutex beyond the first time.
  [[nodiscard]] std::uint32_t depth() const { return recursion_ & max_recursion; }

  /// Only the holder changes the count, so it needs no atomic update. False if the caller is not
  /// the holder, or if no more waiters can be counted: destroy() may then miss that one.
  bool count_waiter() {
    if (owner_.load(std::memory_order_relaxed) != thread_number() ||
        (recursion_ & waiters) == waiters) {
      return false;
    }
    recursion_ += one_waiter;
    return true;
  }

  /// For the holder that count_waiter() has counted. In the child of a fork within the wait,
  /// adopt() may have done so already.
  void forget_waiter() {
    if ((recursion_ & waiters) != 0) {
      recursion_ -= one_waiter;
    }
  }

  explicit replaced_mutex(kind_word kind) : kind_(kind) { check_layout(); }

  /// The slow path begins here.
  static replaced_mutex& adopted(pthread_mutex_t* mutex) {
    replaced_mutex& self = of(mutex);
    if (is_watched()) [[unlikely]] {
      self.hide();
    }
    if (is_stale(self.kind(), generation)) [[unlikely]] {
      self.adopt();
    }
    return self;
  }

  /// For tools: until it is known, a thread that waits for it or takes it checks.
  [[gnu::noinline]] void hide() {
    if (!is_library(kind()) && (kind() & known_to_tool) == 0) {
      valgrind::hide(this, sizeof(pthread_mutex_t));
    }
  }

  [[gnu::noinline]] void tell_acquired() {
    kind_.fetch_or(known_to_tool, std::memory_order_relaxed);
    valgrind::acquired(this);
  }

  /// Whether a function is for the plain types only, which do not check the holder
  /// them: that question is answered once, at the entry point.
  enum entry : bool { plain, any_type };

  template <entry From>
  void record_owner() {
    owner_.store(From == plain ? found_thread_number() : thread_number(),
                 std::memory_order_relaxed);
    if (From == any_type && knows_owner(kind())) {
      serial_.store(native_env::serial(), std::memory_order_relaxed);
    }
    if (From == any_type && is_watched()) [[unlikely]] {
      tell_acquired();
    }
  }

  template <entry From>
  void entered(arrival found) {
    record_owner<From>();
    if constexpr (counting) {
      count(event::acquired);
      if (found == arrival::contended) {
        count(event::contended);
      }
      if ((recursion_ & counted) == 0) {
        recursion_ |= counted;
        count(event::mutex_seen);
      }
    }
  }

  template <entry From, class L>
  [[gnu::always_inline]] void leave(L& lock) {
    if (!line_.empty()) [[unlikely]] {
      leave_with_line<From>(lock);
      return;
    }
    clear_owner<From>();
    lock.unlock();
  }

  /// By whatever way it came in.
  void leave() {
    with_lock([](replaced_mutex& self, auto& lock) { self.template leave<any_type>(lock); });
  }

  template <entry From, class L>
  [[gnu::noinline]] void leave_with_line(L& lock) {
    line_.grant_first_after([this, &lock] {
      clear_owner<From>();
      lock.unlock();
    });
  }

  template <entry From>
  void clear_owner() {
    if (From == any_type && is_watched()) [[unlikely]] {
      valgrind::released(this);
    }
    if (From == any_type && knows_owner(kind())) {
      serial_.store(0, std::memory_order_relaxed);
    }
    owner_.store(0, std::memory_order_relaxed);
  }

  /// For the types that ask. Relaxed: only the caller could have stored its own serial.
  bool is_held_by_this_thread() const {
    return knows_owner(kind()) && serial_.load(std::memory_order_relaxed) == native_env::serial();
  }

  /// What call(*this, the lock as what it is) returns.
  template <class Call>
  auto with_lock(Call call) {
    return lock_.with_lock(kind(), *this, call);
  }

  /// Gives back what the lock has outside; no thread uses it any more.
  template <class L>
  static void end(L& lock) {
    lock.~L();
  }

  arrival take() {
    return with_lock([](replaced_mutex&, auto& lock) { return lock.lock(); });
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
      count(event::handed_over);
    }
    return result;
  }

  int trylock_quietly() {
    if (is_held_by_this_thread()) {
      return type_of(kind()) == errorcheck ? EBUSY : lock_recursively();
    }
    if (!with_lock([](replaced_mutex&, auto& lock) { return lock.try_lock(); })) {
      return EBUSY;
    }
    entered<any_type>(arrival::uncontended);
    return 0;
  }

  waiter_line line_{};
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
