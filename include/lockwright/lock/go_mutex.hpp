// go-mutex: waiters sleep in the order of arrival and compete with arriving threads when woken.
// A waiter that has waited too long sets starvation mode, in which the mutex is handed from
// holder to waiter, until the queue is short.
//
// Citation: The Go Authors, sync.Mutex of Go 1.9 and later, 2017 (D. Vyukov,
// "sync: make Mutex more fair", golang.org/issue/13086).
//
//   state | bits | meaning                                      | written by
//   held  | 0    | a thread is inside                           | all
//   woken | 1    | a waiter is awake and competes, or a thread  | a waiter or spinner; an
//         |      | that spins prevents wakes                    | unlock that wakes
//   starving | 2 | unlock hands over; no barging                | waiters
//   count | 3-31 | threads that sleep or are about to           | waiters, an unlock that wakes
//   sleepers | a semaphore, where they sleep                    | see fifo_semaphore
//
// Go's unlock clears `held` before it chooses a thread to wake; here the mutex may be destroyed
// by then, so both are one step. A goroutine spins only if other processors have work; that
// is not known here.
//
// Invariants
//   EXCLUSION  inside is the thread that takes the state from neither held nor starving
//              to held, or that is woken while it is starving.
//   ONE-EACH   each decrement of `count` by an unlock, and each unlock of a starving mutex,
//              releases the semaphore once, and so lets one thread of `count` proceed; until
//              then that thread prevents the mutex from being destroyed.
//   FAIR       a thread that has waited for longer than `starvation` sets `starving` if the mutex
//              is held at its next attempt.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/fifo_semaphore.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class go_mutex {
 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin_then_park,
      .realtime = realtime::own_order,
      .light = true,
      .node_bytes = sizeof(waiter<Env>),
      .suits = {{{use_case::crowded, 12,
                  "lets a running thread take the lock, with bounded waiting"}}},
      .reference = "The Go Authors, sync.Mutex, 2017",
      .summary =
          "Waiters sleep and compete with arriving threads when woken; one that has waited for a "
          "millisecond makes unlocks hand over in order for a while. As fast as barging, with "
          "bounded waiting."};

  static constexpr tunable spins{.name = "spins",
                                 .default_value = 4,
                                 .counted_in = unit::count,
                                 .min = 0,
                                 .max = 1u << 20,
                                 .model_value = 1,
                                 .meaning = "how often a thread polls before it sleeps",
                                 .source = "the Go runtime (active_spin)"};
  static constexpr tunable pauses{.name = "pauses",
                                  .default_value = 30,
                                  .counted_in = unit::count,
                                  .min = 0,
                                  .max = 1u << 20,
                                  .model_value = 0,
                                  .meaning = "pause instructions between two polls",
                                  .source = "the Go runtime (active_spin_cnt)"};
  static constexpr tunable starvation{
      .name = "starvation-ns",
      .default_value = 1'000'000,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = std::uint64_t{1} << 50,
      .model_value = 0,
      .meaning = "the wait after which a thread requests a handover",
      .source = "the published algorithm (starvationThresholdNs)"};
  /// With fewer threads no thread queues behind what is left of a list of three.
  static constexpr std::uint32_t checked_threads = 4;
  static constexpr tunable_list<3> tunables{&spins, &pauses, &starvation};

  arrival lock() {
    std::uint32_t free = 0;
    // Acquire, here and in the other acquisitions, pairs with the release in unlock().
    if (state_.compare_exchange_strong(free, held_, std::memory_order_acquire,
                                       std::memory_order_relaxed)) [[likely]] {
      return arrival::uncontended;
    }
    spin_and_sleep();
    return arrival::contended;
  }

  bool try_lock() {
    std::uint32_t seen = state_.load(std::memory_order_relaxed);
    return (seen & (held_ | starving_)) == 0 &&
           state_.compare_exchange_strong(seen, seen | held_, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  void unlock() {
    std::uint32_t seen = held_;
    if (!state_.compare_exchange_strong(seen, 0, std::memory_order_release,
                                        std::memory_order_relaxed)) [[unlikely]] {
      unlock_with_waiters(seen);
    }
  }

 private:
  static constexpr std::uint32_t held_ = 1;
  static constexpr std::uint32_t woken_ = 2;
  static constexpr std::uint32_t starving_ = 4;
  static constexpr std::uint32_t one_waiter_ = 8;

  [[gnu::noinline]] void spin_and_sleep() {
    std::uint64_t since = 0;
    bool has_slept = false;
    bool starves = false;
    bool awake = false;  // `woken` is this thread's
    std::uint64_t turn = 0;
    std::uint32_t seen = state_.load(std::memory_order_relaxed);
    for (;;) {
      if ((seen & (held_ | starving_)) == held_ && turn < Env::template value<spins>()) {
        ++turn;
        awake = awake || prevent_wake(seen);
        for (std::uint64_t i = 0; i < Env::template value<pauses>(); ++i) {
          Env::relax();
        }
        seen = state_.load(std::memory_order_relaxed);
        continue;
      }
      const bool taken = (seen & (held_ | starving_)) == 0;
      std::uint32_t next = taken ? seen | held_ : seen + one_waiter_;
      if (starves && (seen & held_) != 0) {
        next |= starving_;
      }
      if (awake) {
        next &= ~woken_;
      }
      if (!state_.compare_exchange_strong(seen, next, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
        continue;
      }
      if (taken) {
        return;
      }
      if (!has_slept) {
        since = Env::now();
      }
      sleepers_.acquire(has_slept);
      has_slept = true;
      starves = starves || Env::now() - since > Env::template value<starvation>();
      seen = state_.load(std::memory_order_relaxed);
      if ((seen & starving_) != 0) {
        become_holder(starves, seen);
        return;
      }
      awake = true;
      turn = 0;
    }
  }

  /// True if `woken` was free and is the caller's now.
  bool prevent_wake(std::uint32_t seen) {
    return (seen & woken_) == 0 && seen >= one_waiter_ &&
           state_.compare_exchange_strong(seen, seen | woken_, std::memory_order_relaxed,
                                          std::memory_order_relaxed);
  }

  /// The mutex has been handed to the caller. Relaxed: the semaphore has
  /// acquired. Back to normal if no other thread waits, or the wait was not long.
  void become_holder(bool starves, std::uint32_t seen) {
    std::uint32_t change = held_ - one_waiter_;
    if (!starves || seen / one_waiter_ == 1) {
      change -= starving_;
    }
    state_.fetch_add(change, std::memory_order_relaxed);
  }

  [[gnu::noinline]] void unlock_with_waiters(std::uint32_t seen) {
    for (;;) {
      if ((seen & starving_) != 0) {
        // Only the thread that the semaphore admits takes it now. Relaxed: the semaphore releases.
        state_.fetch_sub(held_, std::memory_order_relaxed);
        sleepers_.release();
        return;
      }
      const bool wake = seen >= one_waiter_ && (seen & woken_) == 0;
      const std::uint32_t next = wake ? ((seen - one_waiter_) | woken_) - held_ : seen - held_;
      if (state_.compare_exchange_strong(seen, next, std::memory_order_release,
                                         std::memory_order_relaxed)) {
        if (wake) {
          sleepers_.release();
        }
        return;
      }
    }
  }

  [[no_unique_address]] fifo_semaphore<Env> sleepers_;  // it ends in four free bytes
  typename Env::template atomic<std::uint32_t> state_{};
};

}  // namespace lockwright
