// Condition variables and semaphores with one classic fault each, which the checker has to find.
#pragma once

#include <atomic>
#include <cstdint>

#include "cond_scenarios.hpp"
#include "semaphore_scenarios.hpp"

namespace lockwright::broken {

using check::forked_model;
using check::model_mutex;

/// The base of the condition variables below.
template <class Env, class Mutex>
class fair : public preload::basic_condvar<Env, Mutex> {
 protected:
  using waiter = typename preload::basic_condvar<Env, Mutex>::waiter;

  /// Claims the first waiter, as signal() does.
  waiter* take() {
    this->guard_.lock();
    waiter* chosen = this->queue_.take();
    this->guard_.unlock();
    return chosen;
  }

  /// Removes all waiters from the queue; returns them claimed, and linked by `next`.
  waiter* take_all() {
    this->guard_.lock();
    waiter* first = nullptr;
    waiter* last = nullptr;
    while (waiter* each = this->queue_.take()) {
      each->by_signal = false;
      if (last == nullptr) {
        first = each;
      } else {
        last->next = each;
      }
      last = each;
    }
    this->guard_.unlock();
    return first;
  }
};

/// Releases the mutex before the waiter can be signalled: a signal in between is lost.
template <class Env, class Mutex>
struct releases_too_soon : fair<Env, Mutex> {
  using typename preload::basic_condvar<Env, Mutex>::waiter;
  void enqueue(waiter& self, bool at_end) {
    auto* const mutex = self.mutex;
    mutex->unlock();
    preload::basic_condvar<Env, Mutex>::enqueue(self, at_end);
    mutex->lock();
  }
};

/// A signal that finds a waiter which is giving up, and picks no other.
template <class Env, class Mutex>
struct signals_leavers : fair<Env, Mutex> {
  using typename preload::basic_condvar<Env, Mutex>::waiter;
  void signal() {
    this->guard_.lock();
    waiter* first = this->queue_.first();
    const bool claimed = first != nullptr && first->claim(true);
    if (claimed) {
      this->queue_.unlink(*first);
      first->next = nullptr;
    }
    this->guard_.unlock();
    if (claimed) {
      this->dispatch(*first, *first);
    }
  }
};

/// Grants without a claim: the waiter may have given up meanwhile, and be gone.
template <class Env, class Mutex>
struct grants_unclaimed : fair<Env, Mutex> {
  using typename preload::basic_condvar<Env, Mutex>::waiter;
  void signal() {
    this->guard_.lock();
    waiter* first = this->queue_.first();
    if (first != nullptr) {
      this->queue_.unlink(*first);
    }
    this->guard_.unlock();
    if (first != nullptr) {
      first->grant();
    }
  }
};

/// A cancelled waiter does not find that it was signalled, and does not pass the signal on.
template <class Env, class Mutex>
struct swallows_signal : fair<Env, Mutex> {
  void signal() {
    if (auto* chosen = this->take()) {
      chosen->by_signal = false;
      this->dispatch(*chosen, *chosen);
    }
  }
};

/// Reads the link of a waiter after its grant: the waiter may be gone.
template <class Env, class Mutex>
struct looks_at_granted : fair<Env, Mutex> {
  void broadcast() {
    for (auto* each = this->take_all(); each != nullptr; each = each->next) {
      each->grant();
    }
  }
};

/// Wakes one of many waiters.
template <class Env, class Mutex>
struct broadcasts_to_one : fair<Env, Mutex> {
  void broadcast() { this->signal(); }
};

/// Accesses the condition variable after the grant.
template <class Env, class Mutex>
struct touches_after_signal : fair<Env, Mutex> {
  void signal() {
    preload::basic_condvar<Env, Mutex>::signal();
    this->guard_.lock();
    this->guard_.unlock();
  }
};

/// Appends a waiter to the signalled waiters of a mutex that no thread holds, and grants none.
template <class Env, class Mutex>
struct queues_without_holder : fair<Env, Mutex> {
  void signal() {
    if (auto* chosen = this->take()) {
      Mutex::signalled(chosen->mutex)->append(chosen, chosen);
    }
  }
};

/// Grants the first before the others are appended: it may have released the mutex by then.
template <class Env, class Mutex>
struct lines_up_too_late : fair<Env, Mutex> {
  void broadcast() {
    auto* first = this->take_all();
    if (first == nullptr) {
      return;
    }
    auto* const signalled = Mutex::signalled(first->mutex);
    auto* second = static_cast<decltype(first)>(first->next);
    first->grant();
    if (second != nullptr) {
      signalled->append(second, second);
    }
  }
};

/// Does not wait for waiters that have given up and are still in the queue.
template <class Env, class Mutex>
struct drains_no_waiter : fair<Env, Mutex> {
  void drain() {}
};

/// A waiter that gives up stays in the queue.
template <class Env, class Mutex>
struct stays_queued : fair<Env, Mutex> {
  using typename preload::basic_condvar<Env, Mutex>::waiter;
  void remove(waiter&) {}
};

/// Prepends instead of appending, and vice versa.
template <class Env, class Mutex>
struct wrong_end : fair<Env, Mutex> {
  using typename preload::basic_condvar<Env, Mutex>::waiter;
  void enqueue(waiter& self, bool at_end) {
    preload::basic_condvar<Env, Mutex>::enqueue(self, !at_end);
  }
};

/// A mutex whose unlock ignores its signalled waiters.
template <class L>
class forgets_signalled : public model_mutex<L> {
 public:
  void unlock() { this->disown_and_unlock(); }
};

/// A mutex that reads its signalled waiters after the release, when another thread may have destroyed it.
template <class L>
class looks_too_late : public model_mutex<L> {
 public:
  void unlock() {
    this->disown_and_unlock();
    model_mutex<L>::signalled(this)->grant_first();
  }
};

/// A semaphore whose post reads the count and adds to it in two steps.
template <class Env, class Mutex, class Blocked>
struct posts_in_two_steps : preload::basic_semaphore<Env, Mutex, Blocked> {
  using preload::basic_semaphore<Env, Mutex, Blocked>::basic_semaphore;
  bool post() {
    const std::uint64_t word = this->word_.load(std::memory_order_relaxed);
    if (word >= this->one_waiter) {
      return preload::basic_semaphore<Env, Mutex, Blocked>::post();
    }
    this->word_.store(word + 1, std::memory_order_release);
    return true;
  }
};

/// Adds the unit to the count, although a thread waits.
template <class Env, class Mutex, class Blocked>
struct posts_past_waiters : preload::basic_semaphore<Env, Mutex, Blocked> {
  using preload::basic_semaphore<Env, Mutex, Blocked>::basic_semaphore;
  bool post() {
    this->word_.fetch_add(1, std::memory_order_release);
    return true;
  }
};

/// Grants the waiter before it releases the guard.
template <class Env, class Mutex, class Blocked>
struct grants_under_guard : preload::basic_semaphore<Env, Mutex, Blocked> {
  using preload::basic_semaphore<Env, Mutex, Blocked>::basic_semaphore;
  bool post() {
    this->guard_.lock();
    if (auto* chosen = this->queue_.take()) {
      this->word_.fetch_sub(this->one_waiter, std::memory_order_relaxed);
      chosen->grant();
      this->guard_.unlock();
      return true;
    }
    this->guard_.unlock();
    return preload::basic_semaphore<Env, Mutex, Blocked>::post();
  }
};

/// A cancelled waiter that keeps the unit that it was granted.
template <class Semaphore>
struct keeps_unit : preload::wait_for_unit<Semaphore> {
  void cancel() {
    if (this->self.give_up()) {
      this->sem.leave(this->self);
    } else {
      this->self.await_grant();
    }
  }
};

}  // namespace lockwright::broken
