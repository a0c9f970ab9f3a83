// A condition variable that works with any lock: a queue of waiting threads.
#pragma once

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "counting.hpp"
#include "fork.hpp"
#include "lockwright/three_state.hpp"
#include "mutex.hpp"
#include "real.hpp"
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

  /// True if it was made for several processes, and is the C library's, as long as
  /// the mutexes used with it are.
  static bool is_shared(const pthread_cond_t* cond) {
    return (__atomic_load_n(&cond->__data.__wrefs, __ATOMIC_RELAXED) & shared_bit) != 0;
  }

  explicit condvar(clockid_t clock) : clock_(clock) {}

  [[nodiscard]] clockid_t clock() const { return clock_ & ~made_shared; }

  /// Before a wait: sees to it that the condition variable is of the same library
  /// as the mutex, if it was made for several processes. All that wait at a time
  /// have the same mutex, so nobody does when it changes, and a signal that comes
  /// meanwhile finds nobody in either form.
  static void suit(pthread_cond_t* cond, bool library) {
    if (is_shared(cond) == library) {
      return;
    }
    if (!library || (of(cond).clock_ & made_shared) != 0) {
      change_sides(cond, library);
    }
  }

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

  // In clock_: the program asked for one that several processes share.
  static constexpr clockid_t made_shared = 1 << 8;
  // The C library's bit for the monotonic clock, beside shared_bit.
  static constexpr unsigned monotonic_bit = 2;

  [[gnu::noinline]] static void change_sides(pthread_cond_t* cond, bool library) {
    adopting.lock();
    if (is_shared(cond) && !library) {
      const bool monotonic = (cond->__data.__wrefs & monotonic_bit) != 0;
      std::memset(static_cast<void*>(cond), 0, sizeof *cond);
      ::new (static_cast<void*>(cond))
          condvar((monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME) | made_shared);
    } else if (!is_shared(cond) && library) {
      pthread_condattr_t attributes;
      pthread_condattr_init(&attributes);
      pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
      pthread_condattr_setclock(&attributes,
                                reinterpret_cast<condvar*>(cond)->clock_ & ~made_shared);
      real.cond_init(cond, &attributes);
    }
    adopting.unlock();
  }

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
