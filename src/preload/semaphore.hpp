// A semaphore that decides which of its waiters goes on, to keep few threads
// active: a count, and a queue of waiting threads.
#pragma once

#include <errno.h>
#include <limits.h>
#include <semaphore.h>
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "counting.hpp"
#include "fork.hpp"
#include "lockwright/three_state.hpp"
#include "waiter_queue.hpp"
#include "waiters.hpp"

namespace lockwright::preload {

/// Blocks all signals of the calling thread while it lives, those of the C
/// library included.
class signals_blocked {
 public:
  signals_blocked() { change(SIG_SETMASK, ~std::uint64_t{0}, &before_); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;
  ~signals_blocked() { change(SIG_SETMASK, before_, nullptr); }

 private:
  static void change(int how, std::uint64_t set, std::uint64_t* before) {
    native_env::system_call(SYS_rt_sigprocmask, how, native_env::argument(&set),
                            native_env::argument(before), sizeof set);
  }

  std::uint64_t before_ = 0;
};

/// The layout, over the C library's sem_t:
///
///   bytes | meaning                                     | written by
///   0-3   | the count                                   | post, wait
///   4-7   | how many threads are in the queue           | under the guard
///   8-11  | guard of the queue, see three_state.hpp; the | -
///         | C library has its mark of a shared or named |
///         | semaphore here, which the guard never is    |
///   12-15 | generation, see fork.hpp                    | initialisation, adopt()
///   16-31 | the waiters, see waiter_queue.hpp           | under the guard
///
/// All zero is a semaphore of count 0 without waiters.
///
/// Invariant HAND-OVER: a post that finds a waiter gives it the unit, and leaves
/// the count alone. So the count is above 0 only while nobody is in the queue
/// but threads that have given up and are about to leave it.
/// Invariant SIGNAL-SAFE: the guard is held with all signals blocked only, so a
/// handler that posts never waits for the thread that it interrupted.
/// Invariant NO-TOUCH: once a unit can be taken, or a waiter has been granted
/// one, the post does not touch the semaphore again: who gets the unit may
/// destroy it.
class semaphore {
 public:
  static semaphore& of(sem_t* sem) {
    auto& self = *reinterpret_cast<semaphore*>(sem);
    // Acquire pairs with the release in adopt(): the empty queue is seen.
    if (self.generation_.load(std::memory_order_acquire) != generation) [[unlikely]] {
      self.adopt();
    }
    return self;
  }

  /// True if the C library made it, for several processes or under a name.
  static bool is_shared(const sem_t* sem) {
    return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(sem) + 2, __ATOMIC_RELAXED) ==
           shared_mark;
  }

  explicit semaphore(unsigned count) : word_(count) {}

  [[nodiscard]] unsigned count() const { return count_of(word_.load(std::memory_order_relaxed)); }

  /// Takes a unit if there is one. Acquire pairs with the release in post().
  bool try_take() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    while (count_of(seen) != 0) {
      if (word_.compare_exchange_weak(seen, seen - 1, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// Takes a unit if there is one, and is in the queue otherwise.
  bool take_or_enqueue(waiter& self) {
    const signals_blocked all;
    guard_.lock();
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const bool available = count_of(seen) != 0;
      if (word_.compare_exchange_weak(seen, available ? seen - 1 : seen + one_waiter,
                                      std::memory_order_acquire, std::memory_order_relaxed)) {
        if (!available) {
          queue_.put(self, append_to_semaphore);
        }
        guard_.unlock();
        return available;
      }
    }
  }

  /// For a waiter that has given up.
  void leave(waiter& self) {
    const signals_blocked all;
    guard_.lock();
    queue_.unlink(self);
    word_.fetch_sub(one_waiter, std::memory_order_relaxed);
    guard_.unlock();
  }

  /// Adds a unit, or gives it to the first waiter. False if there are too many.
  bool post() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (seen >= one_waiter) {
        if (const outcome done = post_to_queue(); done != outcome::nobody_waits) {
          return done == outcome::posted;
        }
        seen = word_.load(std::memory_order_relaxed);
      } else if (count_of(seen) == SEM_VALUE_MAX) {
        return false;
      } else if (word_.compare_exchange_weak(seen, seen + 1, std::memory_order_release,
                                             std::memory_order_relaxed)) {
        return true;
      }
    }
  }

 private:
  // As the C library's sem_init and sem_open leave it.
  static constexpr std::uint32_t shared_mark = 128;
  static constexpr std::uint64_t one_waiter = std::uint64_t{1} << 32;

  enum class outcome : std::uint8_t { posted, overflow, nobody_waits };

  static unsigned count_of(std::uint64_t word) { return static_cast<unsigned>(word); }

  [[gnu::noinline]] outcome post_to_queue() {
    const signals_blocked all;
    guard_.lock();
    waiter* chosen = queue_.take();
    if (chosen != nullptr) {
      word_.fetch_sub(one_waiter, std::memory_order_relaxed);
      guard_.unlock();
      chosen->grant();
      return outcome::posted;
    }
    const outcome done = add_beside_those_who_leave();
    guard_.unlock();
    return done;
  }

  /// They are inside still, so nobody destroys the semaphore before the guard is free.
  outcome add_beside_those_who_leave() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    while (seen >= one_waiter) {
      if (count_of(seen) == SEM_VALUE_MAX) {
        return outcome::overflow;
      }
      if (word_.compare_exchange_weak(seen, seen + 1, std::memory_order_release,
                                      std::memory_order_relaxed)) {
        return outcome::posted;
      }
    }
    return outcome::nobody_waits;
  }

  /// The first touch after a fork: nobody waits, whoever waited in the parent.
  [[gnu::noinline]] void adopt() {
    const signals_blocked all;
    adopting_semaphore.lock();
    if (generation_.load(std::memory_order_relaxed) != generation) {
      ::new (&guard_) three_state<environment>();
      ::new (&queue_) waiter_queue();
      word_.store(count_of(word_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
      generation_.store(generation, std::memory_order_release);
    }
    adopting_semaphore.unlock();
  }

  std::atomic<std::uint64_t> word_;
  three_state<environment> guard_;
  std::atomic<kind_word> generation_{generation};
  waiter_queue queue_;

  static constexpr void check_layout() {
    static_assert(sizeof(semaphore) == 32 && sizeof(semaphore) <= sizeof(sem_t));
    static_assert(offsetof(semaphore, guard_) == 8 && sizeof(three_state<environment>) == 4);
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  }
};

}  // namespace lockwright::preload
