// backoff: test-and-set with bounded exponential backoff. After each failed
// attempt the waiter stays away from the lock's cache line, twice as long each
// time up to a bound.
//
// Citation: T. E. Anderson, "The Performance of Spin Lock Alternatives for
// Shared-Memory Multiprocessors", IEEE TPDS 1(1), 1990.
//
//   byte | meaning
//   0    | free
//   1    | held
//
// Invariants
//   EXCLUSION  only the thread whose exchange returned 0 is inside.
//   BOUND      no waiter stays away for more than longest_ loop iterations.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"

namespace lockwright {

template <class Env>
class backoff {
 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin_backoff,
      .light = true,
      .reference = "Anderson, IEEE TPDS 1(1), 1990",
      .summary =
          "Test-and-set whose waiters stay away for exponentially growing delays. Little "
          "coherence traffic, but unfair, and idle for a while after a release."};

  arrival lock() {
    if (try_lock()) {
      return arrival::uncontended;
    }
    back_off_and_take();
    return arrival::contended;
  }

  // Acquire pairs with the release store in unlock().
  bool try_lock() { return byte_.exchange(1, std::memory_order_acquire) == 0; }

  void unlock() { byte_.store(0, std::memory_order_release); }

 private:
  [[gnu::noinline]] void back_off_and_take() {
    std::uint32_t delay = shortest_;
    do {
      Env::delay(delay);
      delay = delay < longest_ / 2 ? delay * 2 : longest_;
    } while (!try_lock());
  }

  // Loop iterations, as in the lock study's library (LiTL).
  static constexpr std::uint32_t shortest_ = 1u << 9;
  static constexpr std::uint32_t longest_ = (1u << 20) - 1;

  typename Env::template atomic<std::uint8_t> byte_{};
};

}  // namespace lockwright
