// A wait up to a deadline for a mutex whose lock has none. Uses the system through its environment
// only, and is model checked, like the locks.
//
// The waiter sleeps beside the lock's own queue. An unlock wakes it, to take the lock if it finds it
// free; once that was in vain and the waiter is due, an unlock hands it the mutex: the lock stays
// locked, and the waiter will unlock it. So it is admitted in a bounded time, and between its
// arrival and its admission the lock was free for others.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/waiters.hpp"

namespace lockwright::preload {

/// When a waiter is due, in nanoseconds from its arrival.
struct patience {
  std::uint64_t least;
  std::uint64_t for_each;  ///< for each waiter with a deadline that came before, if that is more
  std::uint64_t most;
};

template <class Env, class Mutex>
class timed_wait {
  using waiter = basic_waiter<Env, Mutex>;
  using queue = basic_signalled_queue<Env, Mutex>;

 public:
  timed_wait(queue& of_mutex, patience limits)
      : queue_(of_mutex), limits_(limits), begin_(Env::now()) {
    self_.due = never;
  }

  /// Returns true once the caller has the lock, false if it has not by `deadline` (Env::now()).
  template <class L>
  bool lock_until(L& lock, std::uint64_t deadline) {
    for (;;) {
      // Relaxed, here and below: the guard of the queue and the grant order the waiter's fields.
      self_.state.store(waiter::waiting, std::memory_order_relaxed);
      const std::uint64_t before = queue_.add_timed(self_);
      std::uint64_t pause = first_pause;
      while (self_.state.load(std::memory_order_relaxed) == waiter::waiting) {
        if (lock.try_lock()) {
          leave();
          return true;
        }
        const std::uint64_t now = Env::now();
        if (now >= deadline) {
          if (leave()) {
            return false;
          }
          break;
        }
        Env::wait_until(self_.state, waiter::waiting,
                        deadline - now < pause ? deadline : now + pause);
        pause = pause < longest_pause ? 2 * pause : pause;
      }
      self_.await_grant();
      if (self_.has_mutex || lock.try_lock()) {
        return true;
      }
      if (self_.due == never) {
        const std::uint64_t wait = before * limits_.for_each;
        self_.due = begin_ + (wait > limits_.most    ? limits_.most
                              : wait > limits_.least ? wait
                                                     : limits_.least);
      }
    }
  }

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  // Nanoseconds; see OWN-CARE. The first is about a sleep and a wake.
  static constexpr std::uint64_t first_pause = 50'000;
  static constexpr std::uint64_t longest_pause = 500'000'000;

  /// Returns false if an unlock has granted the waiter.
  bool leave() {
    if (queue_.remove(self_)) {
      return true;
    }
    self_.await_grant();
    return false;
  }

  queue& queue_;
  patience limits_;
  std::uint64_t begin_;
  waiter self_{nullptr};
};

}  // namespace lockwright::preload
