// A list of parked threads, as a pointer to its first entry.
#pragma once

#include "lockwright/parts/wait.hpp"

namespace lockwright {

/// A parked thread. It is in a list until a thread removes it and grants its cell; from the
/// grant on it belongs to its owner again.
template <class Env>
struct alignas(64) waiter {
  typename Env::template plain<waiter*> next{};
  typename Env::template plain<waiter*> last{};  ///< of the list; set in its first entry only
  spin_then_park<Env> cell;

  static waiter* armed() {
    waiter* one = Env::template take_node<waiter>();
    one->next = nullptr;
    one->last = one;
    one->cell.arm();
    return one;
  }

  /// Sleeps until removed and granted.
  void park() {
    cell.park();
    Env::give_node(this);
  }
};

/// The list whose first entry is `first`, null when empty. Each operation returns the new first
/// entry. For one thread at a time.
template <class Env>
struct waiter_list {
  using entry = waiter<Env>;

  static entry* append(entry* first, entry* one) {
    if (first == nullptr) {
      return one;
    }
    static_cast<entry*>(first->last)->next = one;
    first->last = one;
    return first;
  }

  static entry* prepend(entry* first, entry* one) {
    if (first != nullptr) {
      one->next = first;
      one->last = static_cast<entry*>(first->last);
    }
    return one;
  }

  /// Removes the first entry of a list that is not empty.
  static entry* rest(entry* first) {
    entry* next = first->next;
    if (next != nullptr) {
      next->last = static_cast<entry*>(first->last);
    }
    return next;
  }
};

}  // namespace lockwright
