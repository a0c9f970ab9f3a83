// mutable: a lock of which as many waiters poll as fit a window, while the others sleep. An oracle
// widens the window when a sleeper was late for a free lock, and narrows it while none is.
//
// Citation: R. Marotta, D. Tiriticco, P. Di Sanzo, A. Pellegrini, B. Ciciani, F. Quaglia, "Mutable
// Locks: Combining the Best of Spin and Sleep Locks", Concurrency and Computation: Practice and
// Experience 32(22), 2020. The oracle is a parameter; doubling_oracle is the paper's.
//
//   word    | bits  | meaning                                  | written by
//   state   | 0-31  | threads that hold or await the lock      | all threads, by adding
//           | 32-63 | the window's size, less one              | the holder, by adding
//   permits |       | sleepers that may proceed                | unlocks; sleepers
//   turn    |       | the lock among those that are awake      | see ttas
//   owed    |       | wake-ups that the next unlock is to make | the holder
//           |       | more than its one; below zero: so many   |
//           |       | of the next unlocks are to make none     |
//   oracle  |       | see doubling_oracle                      | the holder
//   All zero: free, with a window of one, for the holder.
//
// Invariants
//   ONE-STEP   a thread reads the window and the number of threads before it in the step in
//              which it is counted; if it finds the window full it sleeps.
//   WINDOW     of n counted threads min(n, window) are awake, and -owed more
//              if owed is below zero, and owed fewer if it is above.
//   PERMITS    a permit is given only for a thread that is counted, sleeps and
//              has been given none. So while an unlock has permits to give,
//              a thread still waits, and the lock cannot be destroyed.
//
// The published lower bound of a step, window - 1, has the wrong sign:
// it is 1 - window. The paper has no trylock. Here one takes the lock
// only from a state without any thread; if the last holder has not finished
// its unlock, it leaves like an unlock that owes nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/lock/ttas.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// The paper's oracle, after TCP's congestion window: doubles the window at a late wake-up, and
/// narrows it by one after K acquisitions without. With V the widest window that still has late
/// wake-ups, one of K * V + 1 acquisitions is late.
template <class Env>
class doubling_oracle {
 public:
  static constexpr tunable shrink_after{
      .name = "shrink-after",
      .default_value = 10,
      .counted_in = unit::count,
      .min = 1,
      .max = 255,
      .model_value = 1,
      .meaning = "acquisitions without a late wake-up after which the window is narrowed by one",
      .source = "Marotta et al., CCPE 32(22), 2020"};
  static constexpr tunable_list<1> tunables{&shrink_after};

  /// The change of the window after an acquisition. `slept`: the caller slept for it; `spun`: it
  /// found the lock held when awake.
  std::int64_t advise(bool spun, bool slept, std::uint32_t window) {
    if (slept && !spun) {
      since_change_ = 0;
      return window;
    }
    const std::uint32_t count = since_change_ + 1u;
    const bool enough = count >= Env::template value<shrink_after>();
    since_change_ = static_cast<std::uint8_t>(enough ? 0 : count);
    return enough ? -1 : 0;
  }

 private:
  typename Env::template plain<std::uint8_t> since_change_{};
};

template <class Env, template <class> class Oracle>
class mutable_window {
 public:
  static constexpr lock_traits traits{
      .category = category::load_control,
      .waiting = waiting::spin_then_park,
      .realtime = realtime::by_priority,
      .suits = {{{use_case::crowded, 7, "lets as many waiters poll as come in time"}}},
      .reference = "Marotta et al., CCPE 32(22), 2020",
      .summary =
          "As many waiters poll as fit a window, the others sleep; the window widens when a "
          "sleeper comes too late for a free lock. Tunes itself, and survives over-subscription; "
          "unfair."};

  static constexpr tunable widest{
      .name = "most-awake",
      .default_value = 0,
      .counted_in = unit::count,
      .min = 0,
      .max = 1u << 14,
      .model_value = 2,
      .meaning = "the widest window: threads awake, with the holder; 0 is one for each CPU",
      .source = "Marotta et al., CCPE 32(22), 2020"};
  static constexpr auto tunables = join(tunable_list<1>{&widest}, Oracle<Env>::tunables);

  arrival lock() {
    // Relaxed, as all of state: adding is one step, and what a thread does in
    // the section is handed over by `turn`.
    const std::uint64_t found = state_.fetch_add(one_thread_, std::memory_order_relaxed);
    const bool slept = threads(found) >= window(found);
    if (slept) {
      sleep();
    }
    const bool spun = turn_.lock() == arrival::contended;
    // Acquisitions count, too, whose window has been changed since their thread arrived.
    resize(window(found), oracle_.advise(spun, slept, window(found)));
    return slept || spun ? arrival::contended : arrival::uncontended;
  }

  bool try_lock() {
    std::uint64_t found = state_.load(std::memory_order_relaxed);
    if (threads(found) != 0 ||
        !state_.compare_exchange_strong(found, found + one_thread_, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
      return false;
    }
    if (turn_.try_lock()) {
      return true;
    }
    const std::uint64_t left = state_.fetch_sub(one_thread_, std::memory_order_relaxed);
    if (threads(left) > window(left)) {
      wake(1);
    }
    return false;
  }

  void unlock() {
    const std::int16_t owed = owed_;
    // Not without need: a store takes the line from the waiters that poll it.
    if (owed != 0) {
      owed_ = static_cast<std::int16_t>(owed < 0 ? owed + 1 : 0);
    }
    // Relaxed: it stays before the release in turn_.unlock(), and so between
    // this thread's acquisition and the next one's.
    const std::uint64_t left = state_.fetch_sub(one_thread_, std::memory_order_relaxed);
    turn_.unlock();
    // From here on the lock is there only if there are permits to give.
    if (owed < 0) {
      return;
    }
    // One more sleeper, since the window has one thread less.
    const std::int32_t wakes = owed + (threads(left) > window(left) ? 1 : 0);
    if (wakes != 0) {
      wake(static_cast<std::uint32_t>(wakes));
    }
  }

 private:
  static constexpr std::uint64_t one_thread_ = 1;
  static constexpr std::uint32_t window_shift_ = 32;

  static std::uint32_t threads(std::uint64_t state) { return static_cast<std::uint32_t>(state); }
  static std::uint32_t window(std::uint64_t state) {
    return static_cast<std::uint32_t>(state >> window_shift_) + 1;
  }

  [[nodiscard]] bool is_current(std::uint32_t found) const {
    return window(state_.load(std::memory_order_relaxed)) == found;
  }

  /// Called by the holder. The step is dropped if another thread has changed the window since the
  /// caller arrived.
  void resize(std::uint32_t found, std::int64_t step) {
    if (step == 0 || !is_current(found)) {
      return;
    }
    const std::int64_t narrowest = 1 - std::int64_t{found};
    const auto most = static_cast<std::int64_t>(Env::template value<widest>());
    const std::int64_t room = (most == 0 ? std::int64_t{Env::cpus()} : most) - std::int64_t{found};
    step = step < narrowest ? narrowest : step > room ? room : step;
    if (step == 0) {
      return;
    }
    const auto change = static_cast<std::uint64_t>(step) << window_shift_;
    const std::uint64_t before = state_.fetch_add(change, std::memory_order_relaxed);
    const std::int64_t now = threads(before);
    if (step > 0 && now > found) {
      // Sleepers that are inside the window now.
      owe(step < now - found ? step : now - found);
    } else if (step < 0 && now > found + step) {
      // Threads awake that are outside now: as many unlocks wake no thread.
      const std::int64_t outside = now - (found + step);
      owe(-(-step < outside ? -step : outside));
    }
  }

  /// The sum stays within the widest window in either direction, which fits into 16 bits.
  void owe(std::int64_t wakes) { owed_ = static_cast<std::int16_t>(owed_ + wakes); }

  // Acquire and release of a permit: what the giver did to the lock is over
  // before a woken thread may be the last one here and destroy it.
  [[gnu::noinline]] void sleep() {
    std::uint32_t permits = permits_.load(std::memory_order_relaxed);
    for (;;) {
      if (permits == 0) {
        Env::wait(permits_, 0);
        permits = permits_.load(std::memory_order_relaxed);
      } else if (permits_.compare_exchange_weak(permits, permits - 1, std::memory_order_acquire,
                                                std::memory_order_relaxed)) {
        return;
      }
    }
  }

  [[gnu::noinline]] void wake(std::uint32_t count) {
    permits_.fetch_add(count, std::memory_order_release);
    Env::wake(permits_, count);
  }

  typename Env::template atomic<std::uint64_t> state_{};
  ttas<Env> turn_;
  alignas(Oracle<Env>) Oracle<Env> oracle_;
  typename Env::template plain<std::int16_t> owed_{};
  alignas(std::uint32_t) typename Env::template atomic<std::uint32_t> permits_{};
};

}  // namespace lockwright
