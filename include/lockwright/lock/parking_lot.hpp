// parking-lot: one byte, and a table per process in which the waiters of all such locks sleep. A
// woken waiter competes with arriving threads, but about every half a millisecond it is handed
// the lock.
//
// Citation: F. Pizlo, "Locking in WebKit", webkit.org/blog/6161, 2016
// (WTF::ParkingLot); A. d'Antras, parking_lot for Rust, 2016 (eventual fairness).
//
//   bits of the byte | meaning                             | written by
//   held   (0)       | a thread is inside                  | a new holder; unlock
//   parked (1)       | a thread sleeps in the table, or is | a waiter about to sleep;
//                    | about to                            | unlock, at the table
//
//          lock           waiter               unlock, of the last sleeper
//   0 ------------> held --------> held parked ----------------------> 0, or held
//   ^                |                |    ^                             if handed over
//   +---- unlock ----+         unlock v    | lock
//                                   parked-+
//
// The published tables grow with the number of threads; this one does not.
//
// Invariants
//   EXCLUSION  the thread that sets `held`, or is handed the lock, is inside.
//   NO-LOST-WAKE  a thread sleeps only if the byte was `held parked` with the
//              address's bucket locked, and an unlock that finds `parked` goes there.
//   FAIR       an unlock hands over if the bucket's last fair handover is longer
//              ago than a random time of up to `fair-ns`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/parking_table.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class parking_lot {
  using table = parking_table<Env>;

 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin_then_park,
      .realtime = realtime::own_order,
      .light = true,
      .node_bytes = 2 * table::node_bytes,  // one asleep; one for the bucket lock
      .yields = true,
      .suits = {{{use_case::crowded, 10, "lets a running thread take the lock, and is one byte"},
                 {use_case::low_contention, 5, "one byte, and parks"}}},
      .reference = "Pizlo, Locking in WebKit, 2016; d'Antras, parking_lot, 2016",
      .summary =
          "One byte; waiters sleep in a table that all locks share, and one in a while is handed "
          "the lock. The smallest lock that parks, fast, and fair in the long run."};

  static constexpr tunable spins{
      .name = "spins",
      .default_value = 10,
      .counted_in = unit::count,
      .min = 0,
      .max = 1u << 20,
      .model_value = 0,
      .meaning =
          "how often a thread polls before it sleeps, while no other thread sleeps; from the "
          "fourth time on it yields",
      .source = "parking_lot (SpinWait)"};
  static constexpr tunable fair{
      .name = "fair-ns",
      .default_value = 1'000'000,
      .counted_in = unit::nanoseconds,
      .min = 1,
      .max = 0xffff'ffffu,
      .model_value = 1,
      .meaning = "the longest time between two fair handovers, which is random",
      .source = "parking_lot: half a millisecond on average"};
  /// With fewer threads no thread queues behind what is left of a list of three.
  static constexpr std::uint32_t checked_threads = 4;
  static constexpr auto tunables = join(tunable_list<2>{&spins, &fair}, wordlock<Env>::tunables);

  /// The size of the table that all locks of the process share.
  static constexpr std::size_t common_bytes = sizeof(table);

  arrival lock() {
    std::uint8_t free = 0;
    // Acquire, here and in take(), pairs with the release in the two unlocks.
    if (byte_.compare_exchange_strong(free, held_, std::memory_order_acquire,
                                      std::memory_order_relaxed)) [[likely]] {
      return arrival::uncontended;
    }
    wait_and_lock();
    return arrival::contended;
  }

  bool try_lock() {
    std::uint8_t seen = byte_.load(std::memory_order_relaxed);
    while ((seen & held_) == 0) {
      if (take(seen)) {
        return true;
      }
    }
    return false;
  }

  void unlock() {
    std::uint8_t seen = held_;
    if (!byte_.compare_exchange_strong(seen, 0, std::memory_order_release,
                                       std::memory_order_relaxed)) [[unlikely]] {
      unlock_and_wake();
    }
  }

 private:
  static constexpr std::uint8_t held_ = 1;
  static constexpr std::uint8_t parked_ = 2;

  /// Acquires the lock from `seen`, which is not held; stores the current value there if it fails.
  bool take(std::uint8_t& seen) {
    return byte_.compare_exchange_strong(seen, seen | held_, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  [[gnu::noinline]] void wait_and_lock() {
    std::uint64_t turn = 0;
    std::uint8_t seen = byte_.load(std::memory_order_relaxed);
    for (;;) {
      if ((seen & held_) == 0) {
        if (take(seen)) {
          return;
        }
        continue;
      }
      if ((seen & parked_) == 0 && turn < Env::template value<spins>()) {
        spin(++turn);
        seen = byte_.load(std::memory_order_relaxed);
        continue;
      }
      // Relaxed: the thread that acts on it reads it again with the bucket locked.
      if ((seen & parked_) == 0 &&
          !byte_.compare_exchange_strong(seen, held_ | parked_, std::memory_order_relaxed,
                                         std::memory_order_relaxed)) {
        continue;
      }
      // Handed over: the sleeper's cell has acquired.
      if (table::shared().park(this, [this] {
            return byte_.load(std::memory_order_relaxed) == (held_ | parked_);
          })) {
        return;
      }
      turn = 0;
      seen = byte_.load(std::memory_order_relaxed);
    }
  }

  static void spin(std::uint64_t turn) {
    constexpr std::uint64_t pausing = 3;
    if (turn > pausing) {
      Env::yield();
      return;
    }
    for (std::uint32_t i = 0; i < 1u << turn; ++i) {
      Env::relax();
    }
  }

  [[gnu::noinline]] void unlock_and_wake() {
    // Once the byte is stored and not handed over, the lock may be destroyed.
    table::shared().unpark_one(this, Env::template value<fair>(), [this](const auto& found) {
      const std::uint8_t others = found.others ? parked_ : 0;
      byte_.store(found.fair ? others | held_ : others, std::memory_order_release);
      return found.fair;
    });
  }

  typename Env::template atomic<std::uint8_t> byte_{};
};

}  // namespace lockwright
