// mutexee: a mutex whose waiters poll longer before they sleep, and whose unlock waits briefly
// for a thread to acquire the lock before it wakes a sleeper. Fewer sleeps and wakes, which cost
// energy, for less fairness.
//
// Citation: B. Falsafi, R. Guerraoui, J. Picorel, V. Trigonakis, "Unlocking
// Energy", USENIX ATC 2016.
// How long a waiter sleeps is a parameter: until it is woken (mutexee), or for a
// bounded time, after which it polls until it has the lock (mutexee-timeout).
//
//   word | meaning                | entered by
//   0    | free                   | unlock
//   1    | held, no thread sleeps | lock, from 0
//   2    | held, maybe sleepers   | a waiter that sleeps, from any state; a
//        |                        | holder that took over an unlock's duty
//
//   tally  | the mode, and the contended acquisitions of this period: those after a
//          | sleep, and all; written by the holder
//   notice | that of an unlock that waits for an acquirer, else null; set by the holder
//          | before it unlocks, cleared by the next holder
//
//   notice's state | meaning                                     | set by
//   open           | the unlock waits; the sleepers are its duty | the unlock
//   taken          | a thread has the lock and the duty          | that thread
//   given_up       | the unlock has woken a sleeper, or will     | the unlock
//
// A notice records its lock: one found in a copied lock belongs to
// another lock, or has been reused, and is ignored.
//
// The published unlock marks the lock free, and reads the same word again some time later. By then
// the next holder may have unlocked and destroyed the lock. Here the unlock polls a node of its
// own, which the next holder changes. The published waiters poll with memory barriers, which saved
// power on the processors of the paper; these pause, as in all other locks here.
//
// Invariants
//   EXCLUSION  only the thread that took the word from 0 is inside.
//   DUTY       whenever a thread sleeps, or is about to, one thread owes it a
//              wake: the holder, if the word is 2, or an unlock, if its notice
//              is open. The exchanges on the notice pass the duty on or keep it.
//   LAST-GIVES-BACK  of the two threads that exchange a notice's state, the second
//              gives the node back, so neither accesses it after that.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "lockwright/lock.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// A sleep without a deadline.
template <class Env>
struct sleep_until_woken {
  static constexpr bool bounded = false;
  static constexpr tunable_list<0> tunables{};
};

/// A sleep with a deadline, at most one in each acquisition.
template <class Env>
struct sleep_a_while {
  static constexpr bool bounded = true;
  static constexpr tunable longest{
      .name = "timeout-ns",
      .default_value = 16'000'000,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = std::uint64_t{1} << 50,
      .model_value = 1'000'000,
      .meaning = "how long a waiter sleeps before it polls until it has the lock",
      .source = "the shortest that costs no throughput (Falsafi et al., USENIX ATC 2016)"};
  static constexpr tunable_list<1> tunables{&longest};
};

template <class Env, template <class> class Sleep>
class mutexee {
  struct alignas(64) notice {
    typename Env::template atomic<std::uint32_t> state{};
    typename Env::template atomic<mutexee*> of{};
  };

 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin_then_park,
      .realtime = realtime::by_priority,
      .light = true,
      .node_bytes = sizeof(notice),
      .suits = Sleep<Env>::bounded
                   ? suit_list{}
                   : suit_list{{{use_case::crowded, 4,
                                 "takes a thread that runs before it wakes one that sleeps"}}},
      .reference = "Falsafi, Guerraoui, Picorel and Trigonakis, USENIX ATC 2016",
      .summary =
          Sleep<Env>::bounded
              ? "As mutexee, but a waiter whose sleep was not ended in time polls until it has "
                "the lock. Bounds how long a waiter can be passed over, at some cost in energy."
              : "A mutex that polls before it sleeps, and whose unlock waits a moment for another "
                "thread before it wakes a sleeper. Saves energy and futex calls; unfair."};

  // The paper's numbers are cycles of a processor with 2.8 GHz. Its unlock waits 384 cycles, the
  // longest transfer of a line, and reads the lock again. Here three transfers pass until an unlock
  // sees the acquirer: of the word to it, of the notice to it, and of the notice back.
  static constexpr tunable spin_in_spin_mode{
      .name = "spin-ns",
      .default_value = 2'900,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = std::uint64_t{1} << 50,
      .model_value = 0,
      .meaning = "how long a waiter polls before it sleeps, while few sleep",
      .source = "8000 cycles (Falsafi et al., USENIX ATC 2016)"};
  static constexpr tunable spin_in_mutex_mode{
      .name = "spin-mutex-mode-ns",
      .default_value = 280,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = std::uint64_t{1} << 50,
      .model_value = 0,
      .meaning = "how long a waiter polls before it sleeps, while many sleep",
      .source = "2/3 of grace-ns: 256 of 384 cycles (Falsafi et al., USENIX ATC 2016)"};
  static constexpr tunable grace_in_spin_mode{
      .name = "grace-ns",
      .default_value = 420,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = 1u << 30,
      .model_value = 0,
      .meaning =
          "how long an unlock waits for an acquirer before it wakes a sleeper, while few sleep",
      .source = "3 transfers of 384 cycles (Falsafi et al., USENIX ATC 2016)"};
  static constexpr tunable grace_in_mutex_mode{
      .name = "grace-mutex-mode-ns",
      .default_value = 140,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = 1u << 30,
      .model_value = 0,
      .meaning = "the same while many sleep",
      .source = "1/3 of grace-ns: 128 of 384 cycles (Falsafi et al., USENIX ATC 2016)"};
  static constexpr tunable period{
      .name = "period",
      .default_value = 2'048,
      .counted_in = unit::count,
      .min = 1,
      .max = (1u << 15) - 1,
      .model_value = 1,
      .meaning = "contended acquisitions between two choices of the mode",
      .source = "the authors' library (lockin)"};
  static constexpr tunable share{
      .name = "sleep-percent",
      .default_value = 30,
      .counted_in = unit::count,
      .min = 0,
      .max = 100,
      .model_value = 30,
      .meaning =
          "the percentage of contended acquisitions after a sleep above which spin mode ends",
      .source = "Falsafi et al., USENIX ATC 2016"};
  static constexpr auto tunables =
      join(tunable_list<6>{&spin_in_spin_mode, &spin_in_mutex_mode, &grace_in_spin_mode,
                           &grace_in_mutex_mode, &period, &share},
           Sleep<Env>::tunables);

  constexpr mutexee() = default;
  mutexee(const mutexee&) = delete;
  mutexee& operator=(const mutexee&) = delete;

  // constexpr, so that locks are initialised statically; see lazy_part.
  constexpr ~mutexee() {
    if (!std::is_constant_evaluated()) {
      if (notice* left = notice_) {
        take_over(left);
      }
    }
  }

  arrival lock() {
    if (try_lock()) [[likely]] {
      return arrival::uncontended;
    }
    wait_and_lock(never_);
    return arrival::contended;
  }

  bool try_lock() {
    std::uint32_t free = free_;
    // Acquire pairs with the release in unlock().
    if (!word_.compare_exchange_strong(free, held_, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      return false;
    }
    take_over_pending();
    return true;
  }

  bool try_lock_until(std::uint64_t deadline) { return try_lock() || wait_and_lock(deadline); }

  void unlock() {
    std::uint32_t alone = held_;
    // Release, here and below: hands the section's writes to the next holder.
    if (!word_.compare_exchange_strong(alone, free_, std::memory_order_release,
                                       std::memory_order_relaxed)) [[unlikely]] {
      unlock_with_sleepers();
    }
  }

 private:
  static constexpr std::uint32_t free_ = 0;
  static constexpr std::uint32_t held_ = 1;
  static constexpr std::uint32_t sleepers_ = 2;

  static constexpr std::uint32_t open_ = 0;
  static constexpr std::uint32_t taken_ = 1;
  static constexpr std::uint32_t given_up_ = 2;

  static constexpr std::uint64_t never_ = ~std::uint64_t{0};

  // The tally: acquisitions after a sleep, all contended ones, and the mode.
  static constexpr std::uint32_t count_bits_ = 15;
  static constexpr std::uint32_t counts_ = (1u << count_bits_) - 1;
  static constexpr std::uint32_t mutex_mode_ = 1u << 31;

  /// False if the deadline came first.
  [[gnu::noinline]] bool wait_and_lock(std::uint64_t deadline) {
    if (spin(deadline)) {
      count_acquisition(0);
      return true;
    }
    if (!sleep(deadline)) {
      return false;
    }
    count_acquisition(1);
    return true;
  }

  bool spin(std::uint64_t deadline) {
    const bool many_sleep = (tally_.load(std::memory_order_relaxed) & mutex_mode_) != 0;
    const std::uint64_t end = Env::now() + (many_sleep ? Env::template value<spin_in_mutex_mode>()
                                                       : Env::template value<spin_in_spin_mode>());
    return poll(end < deadline ? end : deadline);
  }

  bool poll(std::uint64_t deadline) {
    return poll_until<Env>(
        deadline, [this] { return word_.load(std::memory_order_relaxed) == free_ && try_lock(); });
  }

  /// A waiter that gives up leaves the word as it is, which costs at most one needless wake.
  bool sleep(std::uint64_t deadline) {
    std::uint64_t latest = deadline;
    if constexpr (Sleep<Env>::bounded) {
      const std::uint64_t end = Env::now() + Env::template value<Sleep<Env>::longest>();
      latest = end < deadline ? end : deadline;
    }
    while (word_.exchange(sleepers_, std::memory_order_acquire) != free_) {
      if (latest == never_) {
        Env::wait(word_, sleepers_);
        continue;
      }
      // Not before the word is 2: the wake that came may have been another thread's.
      if (Env::now() >= latest) {
        return latest != deadline && poll(deadline);
      }
      Env::wait_until(word_, sleepers_, latest);
    }
    take_over_pending();
    return true;
  }

  /// Called by the holder after it has entered: an unlock that still waits need not wake.
  void take_over_pending() {
    if (notice* left = notice_) [[unlikely]] {
      notice_ = nullptr;
      if (take_over(left)) {
        word_.store(sleepers_, std::memory_order_relaxed);
      }
    }
  }

  /// True if the duty is the caller's now. Acquire and release, here and in
  /// unlock_with_sleepers(): the second thread may reuse the node.
  [[gnu::noinline]] bool take_over(notice* left) {
    if (left->of.load(std::memory_order_relaxed) != this) {
      return false;
    }
    if (left->state.exchange(taken_, std::memory_order_acq_rel) == open_) {
      return true;
    }
    Env::give_node(left);
    return false;
  }

  [[gnu::noinline]] void unlock_with_sleepers() {
    notice* mine = Env::template take_node<notice>();
    mine->state.store(open_, std::memory_order_relaxed);
    mine->of.store(this, std::memory_order_relaxed);
    notice_ = mine;
    const bool many_sleep = (tally_.load(std::memory_order_relaxed) & mutex_mode_) != 0;
    const std::uint64_t grace = many_sleep ? Env::template value<grace_in_mutex_mode>()
                                           : Env::template value<grace_in_spin_mode>();
    word_.store(free_, std::memory_order_release);
    // From here on the lock may be destroyed; only the word's address is used.
    const std::uint64_t end = Env::now() + grace;
    do {
      if (mine->state.load(std::memory_order_acquire) == taken_) {
        Env::give_node(mine);
        return;
      }
      Env::relax();
    } while (Env::now() < end);
    if (mine->state.exchange(given_up_, std::memory_order_acq_rel) == taken_) {
      Env::give_node(mine);
      return;
    }
    Env::wake(word_, 1);
  }

  /// Called by a holder that has waited; chooses the mode at the end of a period.
  void count_acquisition(std::uint32_t slept) {
    const std::uint32_t seen = tally_.load(std::memory_order_relaxed);
    const std::uint32_t asleep = (seen & counts_) + slept;
    const std::uint32_t all = (seen >> count_bits_ & counts_) + 1;
    if (all < Env::template value<period>()) {
      tally_.store((seen & mutex_mode_) | all << count_bits_ | asleep, std::memory_order_relaxed);
    } else {
      tally_.store(asleep * 100 > all * Env::template value<share>() ? mutex_mode_ : 0,
                   std::memory_order_relaxed);
    }
  }

  typename Env::template atomic<std::uint32_t> word_{};
  typename Env::template atomic<std::uint32_t> tally_{};
  typename Env::template plain<notice*> notice_{};
};

}  // namespace lockwright
