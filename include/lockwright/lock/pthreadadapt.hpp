// pthreadadapt: a three-state futex mutex, whose waiters try a number of times before
// they sleep. The number depends on how many tries earlier waiters needed.
//
// Citation: the GNU C Library's PTHREAD_MUTEX_ADAPTIVE_NP (nptl); its sleeping
// half is Drepper's, "Futexes Are Tricky", 2011.
//
//   word | meaning                | entered by
//   0    | free                   | unlock
//   1    | held, no thread sleeps | lock, from 0
//   2    | held, maybe sleepers   | a waiter that sleeps, from any state
//
//   tries | a moving average of the tries that waiters need | the holder, if it
//         |                                                 | has waited
//
// A waiter tries up to min(most, growth * tries + margin) times, with a pause between, and then
// sleeps as `futex` does. As the holder, it moves `tries` an eighth of the way to the number that
// it needed. Later versions of the C library back off at random between tries; this is the
// lock of the studies, which does not.
//
// Invariants
//   EXCLUSION, NO-LOST-WAKE  those of three_state.hpp, whose word this is.
//   BOUND      no waiter tries more than `most` times before it sleeps.
//   ONE-WRITER only the holder writes `tries`; a stale read by others is harmless.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/three_state.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class pthreadadapt {
 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin_then_park,
      .realtime = realtime::by_priority,
      .light = true,
      .suits = {{{use_case::crowded, 9, "polls for about as long as others had to, then sleeps"},
                 {use_case::low_contention, 7,
                  "the C library's mutex that polls before it sleeps"}}},
      .reference = "GNU C Library, nptl (PTHREAD_MUTEX_ADAPTIVE_NP)",
      .summary =
          "The C library's adaptive mutex: a waiter tries a number of times before it sleeps, "
          "about as often as others had to. Light, small, and survives over-subscription."};

  static constexpr tunable most{.name = "spin-tries",
                                .default_value = 100,
                                .counted_in = unit::count,
                                .min = 0,
                                .max = std::uint64_t{1} << 50,
                                .model_value = 2,
                                .meaning = "how often a waiter tries before it sleeps, at most",
                                .source = "the GNU C Library (mutex_spin_count)"};
  static constexpr tunable growth{
      .name = "growth",
      .default_value = 2,
      .counted_in = unit::count,
      .min = 0,
      .max = 1u << 10,
      .model_value = 1,
      .meaning = "the factor by which a waiter tries more often than was needed recently",
      .source = "the GNU C Library"};
  static constexpr tunable margin{.name = "spin-margin",
                                  .default_value = 10,
                                  .counted_in = unit::count,
                                  .min = 0,
                                  .max = std::uint64_t{1} << 50,
                                  .model_value = 1,
                                  .meaning = "the number of further tries",
                                  .source = "the GNU C Library"};
  static constexpr tunable inertia{
      .name = "inertia",
      .default_value = 8,
      .counted_in = unit::count,
      .min = 1,
      .max = 1u << 20,
      .model_value = 1,
      .meaning = "the weight of the last waiter in the average, as 1 in n",
      .source = "the GNU C Library"};
  static constexpr tunable_list<4> tunables{&most, &growth, &margin, &inertia};

  arrival lock() {
    if (try_lock()) [[likely]] {
      return arrival::uncontended;
    }
    wait_and_lock([] { return true; },
                  [this] {
                    mutex_.lock();
                    return true;
                  });
    return arrival::contended;
  }

  bool try_lock() { return mutex_.try_lock(); }

  bool try_lock_until(std::uint64_t deadline) {
    return try_lock() ||
           wait_and_lock([deadline] { return Env::now() < deadline; },
                         [this, deadline] { return mutex_.try_lock_until(deadline); });
  }

  void unlock() { mutex_.unlock(); }

 private:
  /// False if `goes_on()` returned false, or if `sleep()` did not acquire the lock.
  template <class Patience, class Sleep>
  [[gnu::noinline]] bool wait_and_lock(Patience goes_on, Sleep sleep) {
    const std::uint64_t usual = tries_.load(std::memory_order_relaxed);
    const std::uint64_t enough =
        usual * Env::template value<growth>() + Env::template value<margin>();
    const std::uint64_t bound =
        enough < Env::template value<most>() ? enough : Env::template value<most>();
    std::uint64_t needed = 0;
    do {
      if (!goes_on()) {
        return false;
      }
      if (needed++ >= bound) {
        if (!sleep()) {
          return false;
        }
        break;
      }
      Env::relax();
    } while (!try_lock());
    note(needed);
    return true;
  }

  void note(std::uint64_t needed) {
    const auto usual = static_cast<std::int64_t>(tries_.load(std::memory_order_relaxed));
    const auto change = (static_cast<std::int64_t>(needed) - usual) /
                        static_cast<std::int64_t>(Env::template value<inertia>());
    const std::int64_t now = usual + change;
    tries_.store(static_cast<std::uint32_t>(now < max_noted_ ? now : max_noted_),
                 std::memory_order_relaxed);
  }

  // The most that fits its word.
  static constexpr std::int64_t max_noted_ = 0xffff'ffff;

  three_state<Env> mutex_;
  typename Env::template atomic<std::uint32_t> tries_{};
};

}  // namespace lockwright
