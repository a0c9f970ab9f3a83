// The waiting threads of one condition variable or semaphore.
#pragma once

#include <atomic>

#include "preload/waiters.hpp"

namespace lockwright::preload {

/// A list linked both ways, from the waiter that is woken first to the one that
/// is woken last. All but empty() require the guard of its owner.
/// All zero is an empty queue.
template <class Env, class Mutex>
class basic_waiter_queue {
  using waiter = basic_waiter<Env, Mutex>;

 public:
  [[nodiscard]] bool empty() const { return first() == nullptr; }

  [[nodiscard]] waiter* first() const { return first_.load(std::memory_order_relaxed); }

  void put(waiter& one, bool at_end) {
    if (at_end) {
      append(one);
    } else {
      prepend(one);
    }
  }

  void unlink(waiter& one) {
    if (one.previous == nullptr) {
      first_.store(one.next, std::memory_order_relaxed);
    } else {
      one.previous->next = one.next;
    }
    if (one.next == nullptr) {
      last_ = one.previous;
    } else {
      one.next->previous = one.previous;
    }
  }

  /// Claims the first waiter that has not given up, and takes it out; null if there is none.
  waiter* take() {
    waiter* chosen = first();
    while (chosen != nullptr && !chosen->claim(true)) {
      chosen = chosen->next;
    }
    if (chosen != nullptr) {
      unlink(*chosen);
      // mutant survives in semaphore: dropped: only condition variables make chains.
      chosen->next = nullptr;
    }
    return chosen;
  }

 private:
  void append(waiter& one) {
    one.previous = last_;
    if (last_ == nullptr) {
      first_.store(&one, std::memory_order_relaxed);
    } else {
      last_->next = &one;
    }
    last_ = &one;
  }

  void prepend(waiter& one) {
    one.next = first();
    if (one.next == nullptr) {
      last_ = &one;
    } else {
      one.next->previous = &one;
    }
    first_.store(&one, std::memory_order_relaxed);
  }

  typename Env::template atomic<waiter*> first_{nullptr};
  typename Env::template plain<waiter*> last_{nullptr};
};

}  // namespace lockwright::preload
