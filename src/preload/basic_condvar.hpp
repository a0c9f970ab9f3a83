// A condition variable that works with any lock: a queue of waiting threads. Uses the system
// through its environment only, and is model checked, like the locks.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/parts/three_state.hpp"
#include "preload/waiter_queue.hpp"
#include "preload/waiters.hpp"

namespace lockwright::preload {

/// The operations of every condition variable. `Mutex` gives the signalled waiters of a
/// Mutex::object and whether the caller holds it.
///
/// A signalled waiter does not contend for a held mutex: if the signaller holds the waiter's mutex,
/// the waiter is appended to that mutex's signalled waiters and granted by an unlock; a broadcast appends all
/// waiters, so each unlock makes at most one of them runnable.
///
/// Invariant NO-TOUCH: a waiter that has been signalled does not access the
/// condition variable again, so it may be destroyed right after a broadcast.
/// Invariant HEAD: waiters are signalled from the head of the queue. If all are
/// appended, that is the order in which they began to wait.
/// Invariant BOUNDED: only a waiter that polls is at the head before others that are appended. It
/// soon leaves that place, and after 2 ms of such waits a thread sleeps, see poll_choice, so that a
/// signal then wakes the first that sleeps.
template <class Env, class Mutex>
class basic_condvar {
 public:
  using object = typename Mutex::object;
  using waiter = basic_waiter<Env, object>;

  explicit basic_condvar(int clock = 0, std::uint32_t stamp = 0)
      : clock_(clock), generation_(stamp) {}

  /// Enqueues a waiter at the end of the queue, or at its head.
  void enqueue(waiter& self, bool at_end) {
    guard_.lock();
    queue_.put(self, at_end);
    guard_.unlock();
  }

  /// Puts the caller, which was at the head while it polled, to the end.
  void let_others_before(waiter& self) {
    guard_.lock();
    // Relaxed: a signaller claims and unlinks it under the guard. A single waiter stays where it is:
    // the queue must not seem empty to a signaller without the guard.
    if (self.state.load(std::memory_order_relaxed) == waiter::waiting && self.next != nullptr) {
      queue_.unlink(self);
      queue_.put(self, true);
    }
    guard_.unlock();
  }

  /// Removes the caller, which has given up.
  void remove(waiter& self) {
    guard_.lock();
    queue_.unlink(self);
    guard_.unlock();
  }

  /// Signals the first waiter, if there is one.
  void signal() {
    if (has_no_waiters()) {
      return;
    }
    guard_.lock();
    waiter* chosen = queue_.take();
    guard_.unlock();
    if (chosen != nullptr) {
      dispatch(*chosen, *chosen);
    }
  }

  /// Signals all waiters.
  void broadcast() {
    if (has_no_waiters()) {
      return;
    }
    waiter* first = nullptr;
    waiter* last = nullptr;
    waiter* mutex_holder = nullptr;
    guard_.lock();
    for (waiter* each = queue_.first(); each != nullptr;) {
      waiter* next = each->next;
      if (each->claim(false)) {
        queue_.unlink(*each);
        each->next = nullptr;
        if (each->keeps_mutex) {
          mutex_holder = each;  // at most one: it holds the mutex of all waiters
        } else if (last == nullptr) {
          first = last = each;
        } else {
          last = last->next = each;
        }
      }
      each = next;
    }
    guard_.unlock();
    if (mutex_holder != nullptr) {
      mutex_holder->grant();
    }
    if (first != nullptr) {
      dispatch(*first, *last);
    }
  }

  /// Waits until the waiters that gave up have left the queue.
  void drain() {
    // Without the guard, which leaving waiters need.
    while (!has_no_waiters()) {
      Env::yield();
    }
    // The last leaving waiter may still hold it.
    guard_.lock();
    guard_.unlock();
  }

 protected:
  /// Relaxed: a waiter that the caller is obliged to wake was enqueued before a
  /// release of the mutex that the caller has acquired since.
  [[nodiscard]] bool has_no_waiters() const { return queue_.empty(); }

  /// Grants a chain of claimed waiters, all with the same mutex, or appends it to the mutex's
  /// signalled waiters.
  static void dispatch(waiter& first, waiter& last) {
    auto* const with = first.mutex;
    auto* const signalled = Mutex::signalled(with);
    if (signalled == nullptr) {
      for (waiter* each = &first; each != nullptr;) {
        waiter* next = each->next;
        each->grant();
        each = next;
      }
      return;
    }
    first.grants_in_advance = Mutex::waiters_park(with) && &first != &last && signalled->empty();
    if (Mutex::is_held_by_caller(with)) {
      signalled->append(&first, &last);
      return;
    }
    // Appended before the first is granted: see CHAIN in basic_signalled_queue.
    if (first.next != nullptr) {
      signalled->append(first.next, &last);
    }
    first.grant();
  }

  // The layout fits a pthread_cond_t: three words are for derived classes.
  three_state<Env> guard_;
  int clock_;
  basic_waiter_queue<Env, object> queue_;
  typename Env::template atomic<std::uint32_t> generation_;
  [[maybe_unused]] std::uint32_t zero_ = 0;
};

/// One wait, from the release of the mutex to its re-acquisition.
template <class Env, class Mutex, class Condvar>
struct wait_with {
  Condvar& cond;
  basic_waiter<Env, typename Mutex::object> self;
  bool is_counted = false;  ///< by the mutex, as a waiter

  /// Sleeps, see sleep_until_claimed(). Returns false if the waiter gave up.
  template <class Sleep>
  bool sleep_until_signalled(bool may_sleep, Sleep sleep) {
    if (!self.sleep_until_claimed(may_sleep, sleep)) {
      cond.remove(self);
      return false;
    }
    return true;
  }

  /// Locks the mutex again. Returns 0 or an error number.
  int reacquire_mutex() {
    const int result = Mutex::reacquire(self.mutex, is_counted);
    if (self.grants_in_advance) {
      Mutex::signalled(self.mutex)->grant_first();
    }
    return result;
  }

  /// Withdraws a waiter that will not wait. Returns false if it had already been signalled.
  bool withdraw() {
    if (self.give_up()) {
      cond.remove(self);
      return true;
    }
    self.await_grant();
    return false;
  }

  /// Ends the wait of a cancelled waiter: locks the mutex again, before the program's own cleanup
  /// handlers run, and passes on a signal that the waiter had already received.
  void cancel() {
    const bool signalled = !withdraw();
    reacquire_mutex();
    if (signalled && self.by_signal) {
      cond.signal();
    }
  }
};

}  // namespace lockwright::preload
