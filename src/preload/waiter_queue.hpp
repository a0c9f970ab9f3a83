// The waiting threads of a condition variable or semaphore.
#pragma once

#include <atomic>

#include "preload/waiters.hpp"

namespace lockwright::preload {

/// A doubly linked list, from the waiter that is woken first to the last added. All functions but
/// empty() require the guard of its owner. Zeroed memory is an empty queue.
template <class Env, class Mutex>
class basic_waiter_queue {
  using waiter = basic_waiter<Env, Mutex>;

 public:
  [[nodiscard]] bool empty() const { return first() == nullptr; }

  [[nodiscard]] waiter* first() const { return first_.load(std::memory_order_relaxed); }

  void put(waiter& added, bool at_end) {
    if (at_end) {
      append(added);
    } else {
      prepend(added);
    }
  }

  void unlink(waiter& removed) {
    if (removed.previous == nullptr) {
      first_.store(removed.next, std::memory_order_relaxed);
    } else {
      removed.previous->next = removed.next;
    }
    if (removed.next == nullptr) {
      last_ = removed.previous;
    } else {
      removed.next->previous = removed.previous;
    }
  }

  /// Claims, unlinks and returns the first waiter that has not given up; null if there is none.
  waiter* take() {
    waiter* chosen = first();
    while (chosen != nullptr && !chosen->claim(true)) {
      chosen = chosen->next;
    }
    if (chosen != nullptr) {
      unlink(*chosen);
      chosen->next = nullptr;
    }
    return chosen;
  }

 private:
  void append(waiter& added) {
    added.next = nullptr;
    added.previous = last_;
    if (last_ == nullptr) {
      first_.store(&added, std::memory_order_relaxed);
    } else {
      last_->next = &added;
    }
    last_ = &added;
  }

  void prepend(waiter& added) {
    added.next = first();
    if (added.next == nullptr) {
      last_ = &added;
    } else {
      added.next->previous = &added;
    }
    first_.store(&added, std::memory_order_relaxed);
  }

  typename Env::template atomic<waiter*> first_{nullptr};
  typename Env::template plain<waiter*> last_{nullptr};
};

}  // namespace lockwright::preload
