// MUTEXEE as in its authors' library (LPD-EPFL/lockin, include/mutexee_in.h), which LiTL contains
// too. It differs from lockwright/lock/mutexee.hpp: waiters poll by exchanges, and an unlock that
// waits for an acquirer reads the lock itself once more, so the lock must not be destroyed at once.
//
//   byte      | meaning
//   locked    | 1: held
//   contended | 1: the holder's unlock is to wake a sleeper
//
//   field              | meaning                                           | written by
//   in_mutex_mode_     | periods in mutex mode, this one too; 0: spin mode | contended unlocks
//   contended_unlocks_ | those so far                                      | contended unlocks
//   wakes_             | sleepers woken in this period                     | contended unlocks
//   more_wakes_        | by which the limit of wakes has grown             | contended unlocks
//   doublings_         | of the number of periods in mutex mode            | contended unlocks
//
// Invariants
//   EXCLUSION  only the thread that changed `locked` from 0 is inside.
//   DUTY       a woken thread sets both bytes, so its unlock wakes the next one.
#pragma once

#include <cstdint>

#include "lockwright/lock/mutexee.hpp"

namespace lockwright::simulate {

template <class Env, template <class> class Sleep>
class alignas(64) published_mutexee {
 public:
  static constexpr lock_traits traits = mutexee<Env, Sleep>::traits;

  arrival lock() {
    if (try_lock()) {
      return arrival::uncontended;
    }
    if (!poll()) {
      sleep();
    }
    return arrival::contended;
  }

  /// One exchange of the byte `locked`.
  bool try_lock() { return (word_.fetch_or(locked_) & locked_) == 0; }

  void unlock() {
    std::uint32_t alone = locked_;
    if (word_.load() == locked_ && word_.compare_exchange_strong(alone, 0)) {
      return;
    }
    choose_mode();
    word_.clear_low_byte();
    simulated_env::fence();
    if (is_locked()) {
      return;
    }
    // The program has two values, but a preprocessor condition that is never true chooses.
    constexpr std::uint32_t unlock_waits_cycles = 384;
    Env::delay(unlock_waits_cycles);
    if (is_locked()) {
      return;
    }
    simulated_env::store(reinterpret_cast<std::uint8_t*>(&word_) + 1, 0, 1);
    wakes_ = wakes_ + 1;
    Env::wake(word_, 1);
  }

 private:
  static constexpr std::uint32_t locked_ = 1;
  static constexpr std::uint32_t locked_and_contended_ = 257;

  // Cycles of a processor with 2.8 GHz, as the parameters of mutexee.hpp; and the program's periods.
  static constexpr std::uint32_t long_spin_ = 8192;
  static constexpr std::uint32_t short_spin_ = 256;
  static constexpr std::uint32_t contended_unlocks_of_period_ = 2048;
  static constexpr std::uint32_t fewest_wakes_ = 128;
  static constexpr std::uint32_t most_wakes_ever_ = 256;
  static constexpr std::uint32_t least_patience_ = 8;
  static constexpr std::uint32_t most_patience_ = 32;

  static std::uint64_t nanoseconds(std::uint64_t cycles) { return cycles * 10 / 28; }

  [[nodiscard]] bool is_locked() const { return (word_.load() & locked_) != 0; }

  bool poll() {
    const std::uint64_t spins = in_mutex_mode_ != 0 ? short_spin_ : long_spin_;
    const std::uint64_t end = Env::now() + nanoseconds(spins);
    do {
      if (try_lock()) {
        return true;
      }
      Env::relax();
    } while (Env::now() < end);
    return false;
  }

  void sleep() {
    bool may_sleep = true;
    while ((word_.exchange(locked_and_contended_) & locked_) != 0) {
      if constexpr (Sleep<Env>::bounded) {
        Env::relax();
        if (may_sleep) {
          const std::uint64_t end = Env::now() + Env::template value<Sleep<Env>::longest>();
          Env::wait_until(word_, locked_and_contended_, end);
          may_sleep = Env::now() < end;
        }
      } else {
        Env::wait(word_, locked_and_contended_);
      }
    }
  }

  /// At the end of each period: many wakes end the spin mode, and so many periods the mutex mode.
  void choose_mode() {
    const std::uint32_t unlocks = contended_unlocks_ + 1;
    contended_unlocks_ = unlocks;
    if (unlocks % contended_unlocks_of_period_ != 0) {
      return;
    }
    const std::uint32_t periods = in_mutex_mode_;
    if (periods == 0) {
      if (wakes_ > fewest_wakes_ + more_wakes_) {
        in_mutex_mode_ = 1;
      }
    } else {
      const std::uint32_t patience = least_patience_ << doublings_;
      in_mutex_mode_ = periods + 1;
      if (periods == patience) {
        doublings_ = doublings_ + (patience < most_patience_ ? 1 : 0);
        more_wakes_ = more_wakes_ + (fewest_wakes_ + more_wakes_ < most_wakes_ever_ ? 1 : 0);
        in_mutex_mode_ = 0;
      }
    }
    wakes_ = 0;
  }

  typename Env::template atomic<std::uint32_t> word_{};
  typename Env::template plain<std::uint32_t> in_mutex_mode_{};
  typename Env::template plain<std::uint32_t> contended_unlocks_{};
  typename Env::template plain<std::uint32_t> wakes_{};
  typename Env::template plain<std::uint32_t> more_wakes_{};
  typename Env::template plain<std::uint32_t> doublings_{};
};

}  // namespace lockwright::simulate
