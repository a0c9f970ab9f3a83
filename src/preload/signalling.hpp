// A condition variable that works with any lock: a queue of waiting threads. All
// that it uses of the system is in its environment, and it is model checked like the locks.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/parts/three_state.hpp"
#include "preload/waiter_queue.hpp"
#include "preload/waiters.hpp"

namespace lockwright::preload {

/// What every condition variable does. Through `Mutex` it knows of a Mutex::object
/// whether the caller holds it, and its line.
///
/// A signalled waiter does not run into a held mutex: if the signaller holds
/// the waiter's mutex, the waiter is put in that mutex's line and granted by an
/// unlock; a broadcast puts all of them there, so each unlock makes at most one
/// of them runnable.
///
/// Invariant NO-TOUCH: a waiter that has been signalled does not look at the
/// condition variable again, so it may be destroyed right after a broadcast.
/// Invariant HEAD: waiters are signalled from the head of the queue. If all are
/// put at its end, that is the order in which they began to wait.
template <class Env, class Mutex>
class signalling {
 public:
  using object = typename Mutex::object;
  using waiter = basic_waiter<Env, object>;

  explicit signalling(int clock = 0, std::uint32_t stamp = 0) : clock_(clock), generation_(stamp) {}

  /// At the end of the queue, or at its head.
  void enqueue(waiter& self, bool at_end) {
    guard_.lock();
    queue_.put(self, at_end);
    guard_.unlock();
  }

  /// Called by a waiter that has given up.
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

  /// Signals all of them.
  void broadcast() {
    if (has_no_waiters()) {
      return;
    }
    waiter* first = nullptr;
    waiter* last = nullptr;
    waiter* keeper = nullptr;
    guard_.lock();
    for (waiter* each = queue_.first(); each != nullptr;) {
      waiter* next = each->next;
      if (each->claim(false)) {
        queue_.unlink(*each);
        each->next = nullptr;
        if (each->keeps) {
          keeper = each;  // there is one at most: it holds the mutex of all
        } else if (last == nullptr) {
          first = last = each;
        } else {
          last = last->next = each;
        }
      }
      each = next;
    }
    guard_.unlock();
    if (keeper != nullptr) {
      keeper->grant();
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
    // The last one to leave may still have it.
    guard_.lock();
    guard_.unlock();
  }

 protected:
  /// Relaxed: a waiter that the caller is obliged to wake was enqueued before a
  /// release of the mutex that the caller has acquired since.
  [[nodiscard]] bool has_no_waiters() const { return queue_.empty(); }

  /// Sends a chain of claimed waiters, all with the same mutex, on their way.
  static void dispatch(waiter& first, waiter& last) {
    auto* const with = first.mutex;
    auto* const line = Mutex::line(with);
    if (line == nullptr) {
      for (waiter* each = &first; each != nullptr;) {
        waiter* next = each->next;
        each->grant();
        each = next;
      }
      return;
    }
    // mutant survives: dropped: granting one in advance only saves time.
    first.leads = Mutex::waiters_sleep(with) && &first != &last && line->empty();
    if (Mutex::is_held_by_caller(with)) {
      line->append(&first, &last);
      return;
    }
    // In line before the first is granted: see CHAIN in basic_waiter_line.
    if (first.next != nullptr) {
      line->append(first.next, &last);
    }
    first.grant();
  }

  // Where it is used, a pthread_cond_t lies below: three words are for derived classes.
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
  bool is_counted = false;  ///< by the mutex, as one that waits

  /// Sleeps as sleep_until_claimed() says. False if it gave up.
  template <class Sleep>
  bool sleep_until_signalled(bool patient, Sleep sleep) {
    if (!self.sleep_until_claimed(patient, sleep)) {
      cond.remove(self);
      return false;
    }
    return true;
  }

  /// 0, or why the mutex could not be locked.
  int take_mutex_again() {
    const int result = Mutex::reacquire(self.mutex, is_counted);
    if (self.leads) {
      Mutex::line(self.mutex)->grant_first();
    }
    return result;
  }

  /// Takes a waiter back that will not wait. False if it had been signalled already.
  bool withdraw() {
    if (self.give_up()) {
      cond.remove(self);
      return true;
    }
    self.await_grant();
    return false;
  }

  /// A cancelled waiter: holds the mutex again when the program's own cleanup
  /// handlers run, and passes on a signal that it had already been given.
  void cancel() {
    const bool signalled = !withdraw();
    take_mutex_again();
    if (signalled && self.by_signal) {
      cond.signal();
    }
  }
};

}  // namespace lockwright::preload
