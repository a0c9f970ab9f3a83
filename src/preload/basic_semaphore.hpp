// A semaphore that decides which of its waiters is woken, to keep few threads
// active: a count, and a queue of waiting threads. Uses the system through its environment only,
// and is model checked, like the locks.
#pragma once

#include <limits.h>

#include <atomic>
#include <cstdint>

#include "lockwright/parts/three_state.hpp"
#include "preload/waiter_queue.hpp"
#include "preload/waiters.hpp"

namespace lockwright::preload {

/// The operations of every replaced semaphore. While a `Blocked` exists, no signal handler runs in
/// the calling thread.
///
/// Invariant HANDOVER: a post that finds a waiter gives it the unit, and does not change the
/// count. So the count is above 0 only while every thread in the queue has given up and is about to
/// leave it.
/// Invariant SIGNAL-SAFE: the guard is held with all signals blocked only, so a
/// handler that posts never waits for the thread that it interrupted.
/// Invariant NO-TOUCH: once a unit can be taken, or a waiter has been granted
/// one, the post does not access the semaphore again: the thread that gets the unit may
/// destroy it.
template <class Env, class Mutex, class Blocked>
class basic_semaphore {
 public:
  using waiter = basic_waiter<Env, Mutex>;

  explicit basic_semaphore(unsigned count, std::uint32_t stamp = 0)
      : word_(count), generation_(stamp) {}

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

  /// Takes a unit if there is one, else enqueues the waiter, at the end or the head.
  bool take_or_enqueue(waiter& self, bool at_end) {
    [[maybe_unused]] const Blocked all{};
    guard_.lock();
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const bool available = count_of(seen) != 0;
      if (word_.compare_exchange_weak(seen, available ? seen - 1 : seen + one_waiter,
                                      std::memory_order_acquire, std::memory_order_relaxed)) {
        if (!available) {
          queue_.put(self, at_end);
        }
        guard_.unlock();
        return available;
      }
    }
  }

  /// Removes a waiter that has given up.
  void leave(waiter& self) {
    [[maybe_unused]] const Blocked all{};
    guard_.lock();
    queue_.unlink(self);
    word_.fetch_sub(one_waiter, std::memory_order_relaxed);
    guard_.unlock();
  }

  /// Adds a unit, or gives it to the first waiter. Returns false on overflow.
  bool post() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (seen >= one_waiter) {
        if (const outcome done = post_to_queue(); done != outcome::has_no_waiters) {
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

 protected:
  static constexpr std::uint64_t one_waiter = std::uint64_t{1} << 32;

  enum class outcome : std::uint8_t { posted, overflow, has_no_waiters };

  static unsigned count_of(std::uint64_t word) { return static_cast<unsigned>(word); }

  [[gnu::noinline]] outcome post_to_queue() {
    [[maybe_unused]] const Blocked all{};
    guard_.lock();
    waiter* chosen = queue_.take();
    if (chosen != nullptr) {
      word_.fetch_sub(one_waiter, std::memory_order_relaxed);
      guard_.unlock();
      chosen->grant();
      return outcome::posted;
    }
    const outcome done = post_despite_leavers();
    guard_.unlock();
    return done;
  }

  /// Adds a unit while the queue has leaving waiters: they still use the semaphore, so no thread
  /// destroys it before the guard is free.
  outcome post_despite_leavers() {
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
    return outcome::has_no_waiters;
  }

  typename Env::template atomic<std::uint64_t> word_;
  three_state<Env> guard_;
  typename Env::template atomic<std::uint32_t> generation_;  ///< for derived classes
  basic_waiter_queue<Env, Mutex> queue_;
};

/// One wait for a unit.
template <class Semaphore>
struct wait_for_unit {
  Semaphore& sem;
  typename Semaphore::waiter self{nullptr};

  /// Sleeps, see sleep_until_claimed(). Returns false if the waiter gave up, true with a unit.
  template <class Sleep>
  bool sleep_until_granted(bool may_sleep, Sleep sleep) {
    if (!self.sleep_until_claimed(may_sleep, sleep)) {
      sem.leave(self);
      return false;
    }
    self.await_grant();
    return true;
  }

  /// Ends the wait of a cancelled waiter, which passes on a unit that it has already received.
  void cancel() {
    if (self.give_up()) {
      sem.leave(self);
    } else {
      self.await_grant();
      sem.post();
    }
  }
};

}  // namespace lockwright::preload
