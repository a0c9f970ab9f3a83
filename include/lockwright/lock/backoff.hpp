// backoff: test-and-set with bounded exponential backoff. After each failed attempt the waiter
// does not access the lock's cache line for a delay, which doubles each time up to a bound.
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
//   BOUND      no waiter backs off for more than `longest` turns at a time.
#pragma once

#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/growing_delay.hpp"
#include "lockwright/parts/test_and_set.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class backoff {
 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin_backoff,
      .realtime = realtime::starves,
      .light = true,
      .low_traffic = true,
      .atomics = {.lock = 1, .unlock = 0},
      .suits = {{{use_case::memory_contention, 3, "polls rarely (TOCS 2019, figure 7)"},
                 {use_case::low_contention, 3,
                  "one atomic operation to enter, a plain store to leave, and polls rarely"}}},
      .reference = "Anderson, IEEE TPDS 1(1), 1990",
      .summary =
          "Test-and-set whose waiters back off for exponentially growing delays. Little "
          "coherence traffic, but unfair, and idle for a while after a release."};

  static constexpr tunable shortest{.name = "shortest",
                                    .default_value = 1u << 9,
                                    .counted_in = unit::turns,
                                    .min = 0,
                                    .max = 1u << 30,
                                    .model_value = 1,
                                    .meaning = "the delay after the first failed attempt",
                                    .source = "LiTL (Guerraoui et al., TOCS 2019)"};
  static constexpr tunable longest{.name = "longest",
                                   .default_value = (1u << 20) - 1,
                                   .counted_in = unit::turns,
                                   .min = 0,
                                   .max = 1u << 30,
                                   .model_value = 2,
                                   .meaning = "the longest delay between two attempts",
                                   .source = "LiTL (Guerraoui et al., TOCS 2019)"};
  static constexpr tunable_list<2> tunables{&shortest, &longest};

  arrival lock() {
    if (try_lock()) {
      return arrival::uncontended;
    }
    back_off_and_take([] { return true; });
    return arrival::contended;
  }

  /// Gives up after the first delay that ends past the deadline.
  bool try_lock_until(std::uint64_t deadline) {
    return try_lock() || back_off_and_take([deadline] { return Env::now() < deadline; });
  }

  bool try_lock() { return byte_.take(); }

  void unlock() { byte_.release(); }

 private:
  /// True if it acquired the lock, false if `goes_on()` returned false.
  template <class Patience>
  [[gnu::noinline]] bool back_off_and_take(Patience goes_on) {
    growing_delay delay{Env::template value<shortest>(), Env::template value<longest>()};
    do {
      Env::delay(delay.next());
      if (try_lock()) {
        return true;
      }
    } while (goes_on());
    return false;
  }

  exchange_byte<Env> byte_;
};

}  // namespace lockwright
