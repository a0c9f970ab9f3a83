// futex: a three-state mutex whose waiters poll briefly, then record in the lock's word that
// they sleep, so that an unlock enters the kernel only when a thread may be asleep.
//
// Citation: U. Drepper, "Futexes Are Tricky", 2011 (third mutex).
// The polling before the sleep is not in that text. Without it a handover costs
// a sleep and a wake even where the section is shorter than either.
//
//   word | meaning                | entered by
//   0    | free                   | unlock
//   1    | held, no thread sleeps | lock and a waiter that polls, from 0
//   2    | held, maybe sleepers   | a waiter that sleeps, from any state
//
// Invariants
//   EXCLUSION, NO-LOST-WAKE  those of three_state.hpp, whose word this is. A polling waiter may set
//              1 while others sleep: the last unlock has woken one of them, which will set 2.
//   BOUNDED-POLL  a waiter polls a fixed number of times and then sleeps, however
//              often the lock changes hands meanwhile.
#pragma once

#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/three_state.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class futex {
 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin_then_park,
      .realtime = realtime::by_priority,
      .light = true,
      .suits = {{{use_case::crowded, 8, "lets a running thread take the lock"},
                 {use_case::low_contention, 2, "one atomic operation each way, and parks"}}},
      .reference = "Drepper, Futexes Are Tricky, 2011",
      .summary =
          "Three states (free, held, held with sleepers); a waiter polls for a moment and then "
          "sleeps, and an unlock enters the kernel only if a waiter may sleep. Light, small, and "
          "survives over-subscription."};

  static constexpr tunable spin{.name = "spin",
                                .default_value = 100,
                                .counted_in = unit::count,
                                .min = 0,
                                .max = 1u << 20,
                                .model_value = 1,
                                .meaning = "how often a waiter polls before it sleeps",
                                .source = "the futex mutex of Rust's standard library"};
  static constexpr tunable_list<1> tunables{&spin};

  arrival lock() {
    if (try_lock()) [[likely]] {
      return arrival::uncontended;
    }
    if (!poll()) {
      mutex_.sleep_and_lock();
    }
    return arrival::contended;
  }

  bool try_lock() { return mutex_.try_lock(); }

  bool try_lock_until(std::uint64_t deadline) {
    return try_lock() || poll() || mutex_.try_lock_until(deadline);
  }

  void unlock() { mutex_.unlock(); }

 private:
  /// True if it acquired the lock.
  [[gnu::noinline]] bool poll() {
    for (std::uint64_t left = Env::template value<spin>(); left > 0; --left) {
      Env::relax();
      if (mutex_.is_free() && try_lock()) {
        return true;
      }
    }
    return false;
  }

  three_state<Env> mutex_;
};

}  // namespace lockwright
