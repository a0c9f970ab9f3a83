// Threads in a condition variable wait, and the queue of threads that an unlock of a mutex wakes:
// signalled ones, and those that wait for the mutex up to a deadline.
// Uses the system through its environment only, and is model checked, like the locks.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>

#include "preload/kind.hpp"

namespace lockwright::preload {

/// One waiting thread, on its own stack.
///
///   state   | meaning                                     | next
///   waiting | in the condition variable's queue           | moved (signal), leaving (timeout, cancel)
///   leaving | still in the queue, will unlink itself      | -
///   moved   | signalled; belongs to the signaller or to a | granted
///           | mutex's queue; does not access              |
///           | the condition variable                      |
///   granted | may proceed to the mutex; once this is      | woken, under a tool
///           | stored, the waiter may be gone              |
///   woken   | the signaller does not access it any more   | -
///
/// While the waiter polls, `polls` is set in waiting and moved, and a grant wakes nobody.
///
/// Invariant ONE-CLAIM: waiting is left by compare-and-swap only, so a waiter
/// either has been signalled or has given up, never both and never neither.
template <class Env, class Mutex>
struct alignas(64) basic_waiter {
  enum : std::uint32_t { waiting, leaving, moved, granted, woken, polls = 8 };

  template <class T>
  using plain = typename Env::template plain<T>;

  /// Iterations, about cycles, in which a waiter that polls can take the mutex: its signaller, if it
  /// came back at once, would mostly have to wait itself, as with a queue that has room for one.
  /// `lockwright-bench regimes --queue 1`: 500 are too few, 2,500 take longer than a wake.
  static constexpr std::uint32_t head_start = 1'000;

  explicit basic_waiter(Mutex* with) : mutex(with) {}

  typename Env::template atomic<std::uint32_t> state{waiting};
  plain<bool> by_signal{false};          ///< claimed by a signal, which must not be lost
  plain<bool> grants_in_advance{false};  ///< see PAIR in basic_signalled_queue
  plain<bool> keeps_mutex{false};        ///< has not released the mutex, so need not wait for it
  /// Of a thread that waits for the mutex up to a deadline, else 0: from when on (Env::now()) an
  /// unlock hands it the mutex.
  plain<std::uint64_t> due{0};
  plain<bool> has_mutex{false};  ///< was handed the mutex
  plain<basic_waiter*> next{nullptr};
  plain<basic_waiter*> previous{nullptr};
  Mutex* const mutex;

  /// Claims the waiter for a signaller. Returns false if it has been claimed or has given up.
  bool claim(bool signal) {
    by_signal = signal;
    std::uint32_t expected = state.load(std::memory_order_relaxed);
    while ((expected & ~polls) == waiting) {
      // Relaxed: the guard of the queue has ordered what the waiter wrote before, and the
      // waiter reads by_signal after its grant.
      if (state.compare_exchange_weak(expected, moved | (expected & polls),
                                      std::memory_order_relaxed, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// For a waiter that is not in the queue yet.
  void begin_to_poll() { state.store(waiting | polls, std::memory_order_relaxed); }

  /// For a waiter that polls: true until it has been granted. Relaxed: await_grant() follows.
  [[nodiscard]] bool may_poll_on() const {
    return (state.load(std::memory_order_relaxed) & polls) != 0;
  }

  /// Returns true if it has been signalled. Relaxed: as above.
  bool end_polling() {
    return (state.fetch_and(~std::uint32_t{polls}, std::memory_order_relaxed) & ~polls) != waiting;
  }

  /// Gives up, for the waiter. Returns false if it has been signalled.
  bool give_up() {
    std::uint32_t expected = waiting;
    // Relaxed: the waiter acquires the guard next, or waits for its grant.
    return state.compare_exchange_strong(expected, leaving, std::memory_order_relaxed,
                                         std::memory_order_relaxed);
  }

  /// Lets a claimed waiter proceed. Release pairs with the waiter's acquire load of state. One that
  /// does not poll sleeps or is about to, so its wake is not worth avoiding.
  void grant() {
    if ((state.exchange(granted, std::memory_order_release) & polls) == 0) {
      Env::wake(state, 1);
    } else {
      Env::delay(head_start);
    }
    if (Env::is_watched()) [[unlikely]] {
      // A race detector treats the wake as a write, which must not hit the
      // waiter's stack when the waiter is gone. Release pairs with await_grant().
      state.store(woken, std::memory_order_release);
    }
  }

  /// Calls sleep() until the waiter has been signalled, and returns true. Returns false if it has
  /// given up, because `may_sleep` or the result of sleep() was false.
  template <class Sleep>
  bool sleep_until_claimed(bool may_sleep, Sleep sleep) {
    // Relaxed: a signalled waiter proceeds to await_grant().
    while (state.load(std::memory_order_relaxed) == waiting) {
      if (may_sleep) {
        may_sleep = sleep();
      } else if (give_up()) {
        return false;
      }
    }
    return true;
  }

  /// Sleeps until granted, for a claimed waiter.
  void await_grant() {
    std::uint32_t seen = state.load(std::memory_order_acquire);
    while (seen != granted && seen != woken) {
      Env::wait(state, seen);
      seen = state.load(std::memory_order_acquire);
    }
    if (Env::is_watched()) [[unlikely]] {
      while (state.load(std::memory_order_acquire) != woken) {
        Env::yield();
      }
    }
  }
};

/// The waiters that the unlocks of one mutex grant, in one word inside it: first those with a
/// deadline, then the signalled ones, each kind first in first out.
///
///   bits 63-48 | generation, unless all is zero; of another one: an empty queue
///   bits 47-2  | the last waiter, whose `next` is the first; null when empty
///   bit 1      | a thread sleeps until bit 0 is clear (set only while bit 0 is)
///   bit 0      | the queue is being changed
///
/// Invariant CHAIN: while there are signalled waiters there is a thread that holds the
/// mutex, or one that has been granted and will lock it; each grants
/// one of them when it unlocks, or hands the mutex to a waiter that does. A signaller that does
/// not hold the mutex therefore appends waiters only before it grants one directly.
/// Invariant PAIR: the first waiter of a broadcast that found the queue empty grants another waiter
/// as soon as it has the mutex. From then on one waiter wakes up while another holds the mutex:
/// otherwise the wake-up latency, which is longer than most critical sections, would be part of
/// every handover. So a broadcast makes at most one waiter runnable per unlock, and one in advance.
/// Not where waiters poll: the one in advance might take the processor from the mutex's holder.
/// Invariant OWN-CARE: no thread relies on a waiter with a deadline, which may leave at any time,
/// nor it on an unlock, which may have looked before it came: it looks itself whether the mutex is
/// free.
template <class Env, class Mutex>
class basic_signalled_queue {
  using waiter = basic_waiter<Env, Mutex>;

 public:
  /// Returns true if the queue is empty. Exact for the holder of the mutex, but for waiters with a
  /// deadline. Relaxed: a signalled waiter was appended by the caller, or before the caller's
  /// grant.
  [[nodiscard]] bool empty() const { return word_.load(std::memory_order_relaxed) == 0; }

  /// Appends the chain from `first` to `last`.
  void append(waiter* first, waiter* last) {
    waiter* end = open();
    if (end == nullptr) {
      last->next = first;
    } else {
      last->next = end->next;
      end->next = first;
    }
    close(last);
  }

  /// Adds a waiter with a deadline, and returns the number of those before it.
  std::uint64_t add_timed(waiter& added) {
    waiter* end = open();
    std::uint64_t before = 0;
    if (end == nullptr) {
      added.next = &added;
      end = &added;
    } else {
      waiter* above = last_timed(end, before);
      added.next = above->next;
      above->next = &added;
      if (above == end && before != 0) {
        end = &added;
      }
    }
    close(end);
    return before;
  }

  /// For a waiter with a deadline. Returns false if an unlock has taken it off, and grants it.
  bool remove(waiter& removed) {
    waiter* end = open();
    waiter* above = end;
    while (above != nullptr && above->next != &removed) {
      above = above->next;
      above = above == end ? nullptr : above;
    }
    if (above != nullptr) {
      take_below(above, end);
    }
    close(end);
    return above != nullptr;
  }

  /// Unlinks and returns the first signalled waiter; null if there is none.
  waiter* pop() {
    waiter* end = open();
    waiter* first = take_signalled(end);
    close(end);
    return first;
  }

  /// For the holder: disown(), then makes the mutex free by release() and grants the first waiter
  /// of each kind. One with a deadline that is due gets the mutex instead. From then on the mutex
  /// may be gone, and with it the queue.
  template <class Disown, class Release>
  void grant_first_after(Disown disown, Release release) {
    waiter* end = open();
    waiter* const timed = end != nullptr && end->next->due != 0 ? take_below(end, end) : nullptr;
    const bool hands_over = timed != nullptr && timed->due <= Env::now();
    waiter* const first = hands_over ? nullptr : take_signalled(end);
    close(end);
    disown();
    if (hands_over) {
      timed->has_mutex = true;
    } else {
      release();
    }
    if (first != nullptr) {
      first->grant();
    }
    if (timed != nullptr) {
      timed->grant();
    }
  }

  /// Grants the first signalled waiter, if there is one.
  void grant_first() {
    if (waiter* first = pop()) {
      first->grant();
    }
  }

 private:
  static constexpr std::uint64_t changing = 1;
  static constexpr std::uint64_t sleepers = 2;
  static_assert(alignof(waiter) > (changing | sleepers));

  // Threads' stacks lie below 2^48 on both architectures: the kernel maps memory above only on
  // request.
  static constexpr std::uint64_t stamp_bits = std::uint64_t{generation_bits} << 32;
  static std::uint64_t stamp() { return std::uint64_t{Env::stamp()} << 32; }

  /// Unlinks and returns the waiter after `above`; `end`: the last one of the queue.
  static waiter* take_below(waiter* above, waiter*& end) {
    waiter* const taken = above->next;
    if (taken == above) {
      end = nullptr;
      return taken;
    }
    above->next = taken->next;
    if (taken == end) {
      end = above;
    }
    return taken;
  }

  /// Returns the last waiter with a deadline, after `count` others; `end`, the last waiter of the
  /// queue, if there is none.
  static waiter* last_timed(waiter* end, std::uint64_t& count) {
    waiter* above = end;
    while (above->next->due != 0) {
      above = above->next;
      ++count;
      if (above == end) {
        break;
      }
    }
    return above;
  }

  static waiter* take_signalled(waiter*& end) {
    std::uint64_t timed = 0;
    waiter* const above = end == nullptr ? nullptr : last_timed(end, timed);
    return above == nullptr || (above == end && timed != 0) ? nullptr : take_below(above, end);
  }

  waiter* open() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const bool ours = (seen & stamp_bits) == stamp();
      if (!ours || (seen & changing) == 0) {
        const std::uint64_t end = ours ? seen & ~stamp_bits : 0;
        // Acquire pairs with the release in close().
        if (word_.compare_exchange_weak(seen, end | stamp() | changing, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
          return reinterpret_cast<waiter*>(end);
        }
      } else if ((seen & sleepers) != 0 ||
                 word_.compare_exchange_weak(seen, seen | sleepers, std::memory_order_relaxed)) {
        Env::wait_low(word_, static_cast<std::uint32_t>(seen | sleepers));
        seen = word_.load(std::memory_order_relaxed);
      }
    }
  }

  void close(waiter* end) {
    std::uint64_t fresh = end == nullptr ? 0 : reinterpret_cast<std::uint64_t>(end) | stamp();
    std::uint64_t old = word_.exchange(fresh, std::memory_order_release);
    if ((old & sleepers) != 0) {
      Env::wake_low(word_, INT_MAX);
    }
  }

  typename Env::template atomic<std::uint64_t> word_{0};
};

}  // namespace lockwright::preload
