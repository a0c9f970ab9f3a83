// The waiting policies of the queue locks, and polling up to a deadline for a lock that any thread
// may acquire.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// How long a waiter polls before it sleeps.
inline constexpr tunable spin_bound{
    .name = "spin-ns",
    .default_value = 10'000,
    .counted_in = unit::nanoseconds,
    .min = 0,
    .max = std::uint64_t{1} << 50,
    .model_value = 0,
    .meaning = "how long a waiter polls before it sleeps",
    .source =
        "about the round trip of a sleep and a wake, which keeps the cost within twice the "
        "optimum (Karlin et al., SOSP 1991); `lockwright bench park` measures it"};

/// Polls until `take()` succeeds or the deadline has passed; true if it succeeded.
/// The clock costs about as much as the pause between two polls.
template <class Env, class Take>
[[gnu::noinline]] bool poll_until(std::uint64_t deadline, Take take) {
  do {
    Env::relax();
    if (take()) {
      return true;
    }
  } while (Env::now() < deadline);
  return false;
}

/// Sleeps while `word` holds `expected`, until `deadline` of Env::now() or, if that is the largest
/// number, without one.
template <class Env, class Word>
void sleep_on(Word& word, std::uint32_t expected, std::uint64_t deadline) {
  if (deadline == ~std::uint64_t{0}) {
    Env::wait(word, expected);
  } else {
    Env::wait_until(word, expected, deadline);
  }
}

/// A cell that one thread waits on and another grants, once per arming.
///
///   word    | meaning
///   waiting | armed, not granted; the waiter polls
///   granted | the lock is the waiter's
///
/// The waiter polls without bound and never sleeps, so if it is preempted when it is granted, all
/// threads behind it wait.
template <class Env>
class spin_wait {
 public:
  static constexpr lockwright::waiting policy = waiting::spin;
  static constexpr tunable_list<0> tunables{};

  /// Before the cell is published. Relaxed: the RMW that publishes the node releases it.
  void arm() { word_.store(waiting_, std::memory_order_relaxed); }

  /// Returns once granted.
  void wait() {
    wait_by([] { Env::relax(); });
  }

  /// Release: hands the critical section's writes to the waiter's acquire in wait(). True: the
  /// waiter never leaves.
  bool grant() {
    word_.store(granted_, std::memory_order_release);
    return true;
  }

  /// True if a grant would have to wake the waiter.
  static constexpr bool asleep() { return false; }
  static constexpr bool has_left() { return false; }
  static constexpr bool keep() { return true; }

  /// One step of waiting for another thread to set a link, which it does within a few
  /// instructions; `step` counts the calls of this wait.
  static void linger(std::uint32_t& step) {
    ++step;
    Env::relax();
  }

 protected:
  /// Calls `step` between two polls. The acquire load pairs with the release store in grant().
  template <class Step>
  void wait_by(Step step) {
    while (word_.load(std::memory_order_acquire) != granted_) {
      step();
    }
  }

 private:
  static constexpr std::uint32_t waiting_ = 0;
  static constexpr std::uint32_t granted_ = 1;

  typename Env::template atomic<std::uint32_t> word_{};
};

/// The same cell for a waiter that polls up to `spin_bound` nanoseconds and then sleeps, and that
/// may leave at a deadline.
///
///   word    | meaning                          | changed by
///   waiting | armed; the waiter polls          | waiter -> parked, granter -> granted
///   parked  | the waiter sleeps or is about to | granter -> granted, and one wake; kept
///           |                                  | waiter -> left, at its deadline
///   kept    | the same, and it cannot leave    | granter -> granted, and one wake
///   left    | the waiter has given up          | granter -> granted
///   granted | the lock is the waiter's; after  | -
///           | `left` it is the granter's       |
///
/// Invariant NO-LOST-GRANT: all changes from `waiting` and `parked` are read-modify-writes of the
/// same word, so either the waiter reads `granted` and neither sleeps nor leaves, or the granter
/// reads `parked` and wakes it, or it reads `left`.
/// Invariant NO-IDLE-WAKE: a waiter that still polls costs no system call.
/// Invariant ACTS-FOR-IT: a waiter that has left does not access its queue node again. The thread
/// that would have granted it the lock owns the node: it unlocks in its place, that is, it goes on
/// to the next waiter, and gives the node back. So nodes of waiters that left stay in a queue until
/// the next unlock, and waiting threads need not care about them.
///
/// Citation: M. L. Scott, W. N. Scherer III, "Scalable Queue-Based Spin Locks with Timeout", PPoPP
/// 2001, for queues that threads leave; B. He, W. N. Scherer III, M. L. Scott, HiPC 2005, for a
/// release that passes over them.
///
/// Once granted, the waiter may reuse the cell before the granter wakes it; that wake then
/// reaches another wait, so every sleeper re-checks its word.
template <class Env>
class spin_then_park {
 public:
  static constexpr lockwright::waiting policy = waiting::spin_then_park;
  static constexpr tunable_list<1> tunables{&spin_bound};

  void arm() { word_.store(waiting_, std::memory_order_relaxed); }

  void wait() {
    if (!spin(~std::uint64_t{0})) {
      park();
    }
  }

  /// As wait(), but not beyond `deadline` of Env::now(). False if the caller has left.
  bool wait_until(std::uint64_t deadline) {
    if (spin(deadline)) {
      return true;
    }
    do {
      if (park_until(deadline)) {
        return true;
      }
    } while (Env::now() < deadline);
    std::uint32_t seen = parked_;
    // Release: the granter gives the node back.
    if (word_.compare_exchange_strong(seen, left_, std::memory_order_release,
                                      std::memory_order_relaxed)) {
      return false;
    }
    park();
    return true;
  }

  /// Sleeps until granted, without polling first.
  void park() {
    std::uint32_t seen = waiting_;
    // Relaxed: parking only announces the sleep, and replaces the waiter's own store. When it
    // fails, the lock is the waiter's: that acquire pairs with the exchange in grant().
    if (word_.compare_exchange_strong(seen, parked_, std::memory_order_relaxed,
                                      std::memory_order_acquire)) {
      seen = parked_;
    }
    while (seen != granted_) {
      Env::wait(word_, seen);
      seen = word_.load(std::memory_order_acquire);
    }
  }

  /// As park(), but not beyond `deadline` of Env::now(); returns whether granted. If not, the
  /// caller waits again, or withdraws the cell where no thread can be about to grant it.
  bool park_until(std::uint64_t deadline) {
    std::uint32_t seen = waiting_;
    // Orders as in park().
    if (word_.compare_exchange_strong(seen, parked_, std::memory_order_relaxed,
                                      std::memory_order_acquire)) {
      seen = parked_;
    }
    if (seen == granted_) {
      return true;
    }
    Env::wait_until(word_, seen, deadline);
    return word_.load(std::memory_order_acquire) == granted_;
  }

  /// False if the waiter has left: the lock and the node are the caller's. Release: hands the
  /// critical section's writes to the waiter's acquires in wait(). Acquire: what a waiter that left
  /// did to its node; one that parked has written nothing else.
  bool grant() {
    const std::uint32_t seen = word_.exchange(granted_, std::memory_order_acq_rel);
    if (seen == parked_ || seen == kept_) {
      Env::wake(word_, 1);
    }
    return seen != left_;
  }

  /// Keeps a waiter that was asleep() from leaving; false if it has left. Relaxed: the grant follows.
  bool keep() {
    std::uint32_t seen = parked_;
    return word_.compare_exchange_strong(seen, kept_, std::memory_order_relaxed,
                                         std::memory_order_relaxed);
  }

  /// A waiter that has left stays so until granted.
  bool has_left() const { return word_.load(std::memory_order_relaxed) == left_; }

  /// True if a grant would have to wake the waiter: it has parked or is about to, and stays so
  /// until it leaves, or is kept or granted. A waiter that polls may park at any moment.
  bool asleep() const { return word_.load(std::memory_order_relaxed) == parked_; }

  /// As for spin_wait, but yields, in case that the other thread was preempted: the caller
  /// would otherwise spend its time slice while it holds the lock.
  static void linger(std::uint32_t& step) {
    if (++step % polls_before_yield_ == 0) {
      Env::yield();
    } else {
      Env::relax();
    }
  }

 private:
  static constexpr std::uint32_t waiting_ = 0;
  static constexpr std::uint32_t parked_ = 1;
  static constexpr std::uint32_t granted_ = 2;
  static constexpr std::uint32_t left_ = 3;
  static constexpr std::uint32_t kept_ = 4;
  // The clock costs about as much as a few pauses, so it is read once per batch.
  static constexpr std::uint32_t polls_per_clock_ = 16;
  // Longer than a running thread needs to set its link.
  static constexpr std::uint32_t polls_before_yield_ = 128;

  /// Polls up to `spin_bound` nanoseconds, but not beyond `deadline`; true if granted.
  bool spin(std::uint64_t deadline) {
    std::uint64_t end = 0;
    for (;;) {
      for (std::uint32_t i = 0; i < polls_per_clock_; ++i) {
        if (word_.load(std::memory_order_acquire) == granted_) {
          return true;
        }
        Env::relax();
      }
      std::uint64_t now = Env::now();
      if (end == 0) {
        end = now + Env::template value<spin_bound>();
      }
      if (now >= end || now >= deadline) {
        return false;
      }
    }
  }

  typename Env::template atomic<std::uint32_t> word_{};
};

/// A cell whose waiter may leave.
template <class Wait>
concept LeavableWait = requires(Wait cell, std::uint64_t deadline) {
  { cell.wait_until(deadline) } -> std::same_as<bool>;
};

}  // namespace lockwright
