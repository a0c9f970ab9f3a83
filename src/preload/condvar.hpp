// A condition variable that works with any lock: a queue of waiting threads.
#pragma once

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "counting.hpp"
#include "fork.hpp"
#include "lockwright/three_state.hpp"
#include "mutex.hpp"
#include "waiter_queue.hpp"
#include "waiters.hpp"

namespace lockwright::preload {

/// The layout, over the first bytes of the C library's pthread_cond_t:
///
///   bytes | meaning                                  | written by
///   0-3   | guard of the queue                       | see three_state.hpp
///   4-7   | clock of timed waits                     | initialisation
///   8-23  | the waiters, see waiter_queue.hpp        | under the guard
///   24-27 | generation, see fork.hpp                 | initialisation, adopt()
///   28-31 | zero: the C library's __wrefs lies here  | initialisation
///         | from 2.41 on, and behind here before     |
///
/// All zero is a condition variable with the real-time clock and no waiters.
///
/// A signalled waiter does not run into a held mutex: if the signaller holds
/// the waiter's mutex, the waiter is put in that mutex's line and let go by an
/// unlock; a broadcast puts all of them there, so each unlock makes at most one
/// of them runnable.
///
/// Invariant NO-TOUCH: a waiter that has been signalled does not look at the
/// condition variable again, so it may be destroyed right after a broadcast.
/// Invariant HEAD: waiters are signalled from the head of the queue. Without
/// another setting that is the order in which they began to wait; see append.hpp.
class condvar {
 public:
  static condvar& of(pthread_cond_t* cond) {
    auto& self = *reinterpret_cast<condvar*>(cond);
    // Acquire pairs with the release in adopt(): the empty queue is seen.
    if (self.generation_.load(std::memory_order_acquire) != generation) [[unlikely]] {
      self.adopt();
    }
    return self;
  }

  /// True if it was made for several processes, and is the C library's.
  static bool is_shared(const pthread_cond_t* cond) {
    return (__atomic_load_n(&cond->__data.__wrefs, __ATOMIC_RELAXED) & shared_bit) != 0;
  }

  explicit condvar(clockid_t clock) : clock_(clock) {}

  [[nodiscard]] clockid_t clock() const { return clock_; }

  void enqueue(waiter& self) {
    guard_.lock();
    queue_.put(self, append_to_condvar);
    guard_.unlock();
  }

  /// For a waiter that has given up.
  void remove(waiter& self) {
    guard_.lock();
    queue_.unlink(self);
    guard_.unlock();
  }

  /// Signals the first waiter, if there is one.
  void signal() {
    if (nobody_waits()) {
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
    if (nobody_waits()) {
      return;
    }
    waiter* first = nullptr;
    waiter* last = nullptr;
    guard_.lock();
    for (waiter* each = queue_.first(); each != nullptr;) {
      waiter* next = each->next;
      if (each->claim(false)) {
        queue_.unlink(*each);
        each->next = nullptr;
        if (last == nullptr) {
          first = each;
        } else {
          last->next = each;
        }
        last = each;
      }
      each = next;
    }
    guard_.unlock();
    if (first != nullptr) {
      dispatch(*first, *last);
    }
  }

  /// Waits until those that gave up have taken themselves out.
  void drain() {
    for (;;) {
      guard_.lock();
      bool empty = nobody_waits();
      guard_.unlock();
      if (empty) {
        return;
      }
      native::yield();
    }
  }

 private:
  // Bit 0 of the C library's __wrefs, set by its initialiser for process-shared
  // ones and touched by nothing here.
  static constexpr unsigned shared_bit = 1;

  /// The first touch after a fork: nobody waits, whoever waited in the parent.
  [[gnu::noinline]] void adopt() {
    adopting.lock();
    if (generation_.load(std::memory_order_relaxed) != generation) {
      ::new (&guard_) three_state<environment>();
      ::new (&queue_) waiter_queue();
      generation_.store(generation, std::memory_order_release);
    }
    adopting.unlock();
  }

  /// Relaxed: a waiter that the caller is obliged to wake was enqueued before a
  /// release of the mutex that the caller has acquired since.
  [[nodiscard]] bool nobody_waits() const { return queue_.empty(); }

  /// Sends a chain of claimed waiters, all with the same mutex, on their way.
  static void dispatch(waiter& first, waiter& last) {
    pthread_mutex_t* with = first.mutex;
    waiter_line* line = mutex::line(with);
    if (line == nullptr) {
      for (waiter* each = &first; each != nullptr;) {
        waiter* next = each->next;
        each->grant();
        each = next;
      }
      return;
    }
    first.leads = mutex::waiters_sleep && &first != &last && line->empty();
    if (mutex::is_held_by_caller(with)) {
      line->append(&first, &last);
      return;
    }
    // In line before the first is let go: see CHAIN in waiter_line.
    if (first.next != nullptr) {
      line->append(first.next, &last);
    }
    first.grant();
  }

  three_state<environment> guard_;
  clockid_t clock_;
  waiter_queue queue_;
  std::atomic<kind_word> generation_{generation};
  [[maybe_unused]] std::uint32_t zero_ = 0;

  static constexpr void check_layout() {
    static_assert(sizeof(condvar) == 32 && sizeof(clockid_t) == 4);
    static_assert(offsetof(condvar, zero_) <= offsetof(pthread_cond_t, __data.__wrefs));
  }
};

}  // namespace lockwright::preload
