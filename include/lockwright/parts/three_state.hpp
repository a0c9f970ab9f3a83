// A mutex whose waiters sleep in the kernel at once: the slow path of futex and pthreadadapt after
// their polling, and the guard of queues that are held for a few instructions. Its word is free,
// held, or held with sleepers, so that an unlock enters the kernel only when a thread may be asleep.
//
// Citation: U. Drepper, "Futexes Are Tricky", 2011 (third mutex).
//
//   word | meaning                | entered by
//   0    | free                   | unlock
//   1    | held, no thread sleeps | lock, from 0
//   2    | held, maybe sleepers   | a waiter, from any state
//
//         lock            waiter
//    0 ----------> 1 -----------------> 2
//    ^             |                    |
//    +-- unlock ---+------ unlock ------+   (the latter wakes one)
//
// Invariants
//   EXCLUSION  only the thread that took the word from 0 is inside.
//   NO-LOST-WAKE  a thread sleeps only on the value 2, and the thread that takes the word from 2 to
//              0 wakes one sleeper; the woken thread enters with 2, since others may still sleep.
#pragma once

#include <atomic>
#include <cstdint>

namespace lockwright {

template <class Env>
class three_state {
 public:
  void lock() {
    if (!try_lock()) [[unlikely]] {
      sleep_and_lock();
    }
  }

  bool try_lock() {
    std::uint32_t free = free_;
    // Acquire pairs with the exchange in unlock().
    return word_.compare_exchange_strong(free, held_, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  /// A waiter that gives up leaves the word as it is, which costs at most one needless wake.
  bool try_lock_until(std::uint64_t deadline) {
    if (try_lock()) {
      return true;
    }
    // As in sleep_and_lock().
    while (word_.exchange(sleepers_, std::memory_order_acquire) != free_) {
      if (Env::now() >= deadline) {
        return false;
      }
      Env::wait_until(word_, sleepers_, deadline);
    }
    return true;
  }

  void unlock() {
    // Release hands the section's writes over; the exchange must be one step,
    // or a waiter that sets 2 in between would sleep forever.
    if (word_.exchange(free_, std::memory_order_release) == sleepers_) [[unlikely]] {
      Env::wake(word_, 1);
    }
  }

  /// For a thread that polls.
  bool is_free() const { return word_.load(std::memory_order_relaxed) == free_; }

  [[gnu::noinline]] void sleep_and_lock() {
    while (word_.exchange(sleepers_, std::memory_order_acquire) != free_) {
      Env::wait(word_, sleepers_);
    }
  }

 private:
  static constexpr std::uint32_t free_ = 0;
  static constexpr std::uint32_t held_ = 1;
  static constexpr std::uint32_t sleepers_ = 2;

  typename Env::template atomic<std::uint32_t> word_{};
};

}  // namespace lockwright
