// ttas: test-and-test-and-set. A waiter polls with plain loads, which hit its own cache, and
// tries the atomic exchange only after it has found the lock free.
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

#include "lockwright/lock.hpp"
#include "lockwright/parts/test_and_set.hpp"
#include "lockwright/parts/wait.hpp"

namespace lockwright {

/// A waiter that pauses between two polls and, when it has lost a race, polls on.
template <class Env>
struct plain_racer {
  static void poll(const void*) { Env::relax(); }
  static void lost() {}
};

template <class Env, class Racer = plain_racer<Env>>
class ttas {
 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .light = true,
      .atomics = {.lock = 1, .unlock = 0},
      .suits = {{{use_case::low_contention, 1,
                  "one atomic operation to enter, a plain store to leave"}}},
      .reference = "Rudolph and Segall, ISCA 1984",
      .summary =
          "Waiters poll with plain loads and try the atomic exchange only when the lock looks "
          "free. Light and small; a release makes every waiter race."};

  arrival lock() {
    if (byte_.take()) {
      return arrival::uncontended;
    }
    poll_and_take();
    return arrival::contended;
  }

  bool try_lock() { return !byte_.held() && byte_.take(); }

  bool try_lock_until(std::uint64_t deadline) {
    return try_lock() || poll_until<Env>(deadline, [this] { return try_lock(); });
  }

  void unlock() { byte_.release(); }

 private:
  [[gnu::noinline]] void poll_and_take() {
    Racer me;
    for (;;) {
      while (byte_.held()) {
        me.poll(&byte_);
      }
      if (byte_.take()) {
        return;
      }
      me.lost();
    }
  }

  exchange_byte<Env> byte_;
};

}  // namespace lockwright
