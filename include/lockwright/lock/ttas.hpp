// ttas: test-and-test-and-set. A waiter polls with plain loads, which stay in
// its own cache, and tries the atomic exchange only after it has seen the lock
// free.
//
// Citation: L. Rudolph, Z. Segall, "Dynamic Decentralized Cache Schemes for
// MIMD Parallel Processors", ISCA 1984.
//
//   byte | meaning
//   0    | free
//   1    | held
//
// Invariants
//   EXCLUSION  only the thread whose exchange returned 0 is inside.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"

namespace lockwright {

template <class Env>
class ttas {
 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin,
      .light = true,
      .reference = "Rudolph and Segall, ISCA 1984",
      .summary =
          "Waiters poll with plain loads and try the atomic exchange only when the lock looks "
          "free. Light and small; a release makes every waiter race."};

  arrival lock() {
    if (take()) {
      return arrival::uncontended;
    }
    poll_and_take();
    return arrival::contended;
  }

  bool try_lock() { return byte_.load(std::memory_order_relaxed) == 0 && take(); }

  void unlock() { byte_.store(0, std::memory_order_release); }

 private:
  [[gnu::noinline]] void poll_and_take() {
    do {
      // Relaxed: the exchange that follows acquires.
      while (byte_.load(std::memory_order_relaxed) != 0) {
        Env::relax();
      }
    } while (!take());
  }

  // Acquire pairs with the release store in unlock().
  bool take() { return byte_.exchange(1, std::memory_order_acquire) == 0; }

  typename Env::template atomic<std::uint8_t> byte_{};
};

}  // namespace lockwright
