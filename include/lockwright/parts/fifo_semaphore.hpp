// A counting semaphore whose waiters park in the order of their arrival.
//
//   word    | meaning                                      | written by
//   permits | permits that no thread has taken; none while | the queue's holder
//           | a thread waits                               |
//   queue   | the first waiter; bit 0: permits and queue   | the queue's holder
//           | are locked                                   |
//
// Invariants
//   ONE-EACH   each release lets exactly one acquire proceed: the first that
//              waits, or else the next to arrive.
//   LAST-GRANT a release accesses the semaphore only before it grants a waiter, so the
//              last waiter may destroy it.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/parts/flagged.hpp"
#include "lockwright/parts/waiter_list.hpp"

namespace lockwright {

template <class Env>
class fifo_semaphore {
  using entry = waiter<Env>;
  using list = waiter_list<Env>;
  using flag = flagged<entry>;

 public:
  /// Takes a permit. A thread that has to wait queues behind or ahead of the others.
  void acquire(bool before_others) {
    entry* me = entry::armed();
    entry* first = lock_queue();
    if (permits_ != 0) {
      permits_ = permits_ - 1;
      unlock_queue(first);
      Env::give_node(me);
      return;
    }
    unlock_queue(before_others ? list::prepend(first, me) : list::append(first, me));
    me->park();
  }

  void release() {
    entry* first = lock_queue();
    if (first == nullptr) {
      permits_ = permits_ + 1;
      unlock_queue(nullptr);
      return;
    }
    unlock_queue(list::rest(first));
    first->cell.grant();
  }

 private:
  static constexpr std::uintptr_t busy_ = 1;

  /// Locks the queue, and returns the first waiter. Acquire pairs with the
  /// release in unlock_queue().
  entry* lock_queue() {
    std::uint32_t step = 0;
    for (;;) {
      entry* seen = queue_.load(std::memory_order_relaxed);
      if (flag::flags(seen) == 0 &&
          queue_.compare_exchange_strong(seen, flag::make(seen, busy_), std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
        return seen;
      }
      spin_then_park<Env>::linger(step);
    }
  }

  void unlock_queue(entry* first) { queue_.store(first, std::memory_order_release); }

  // The shorter one last, so that a lock can place a word behind it.
  typename Env::template atomic<entry*> queue_{};
  typename Env::template plain<std::uint32_t> permits_{};
};

}  // namespace lockwright
