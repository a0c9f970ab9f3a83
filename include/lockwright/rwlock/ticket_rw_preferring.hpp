// ticket-rw-readers and ticket-rw-writers: writers enter in the order of their tickets, and readers are
// counted. Under the first, a writer enters when no reader is inside or waits; under the second, a
// reader enters when no writer is inside or waits.
//
// Citation: J. Mellor-Crummey and M. Scott, "Scalable Reader-Writer Synchronization for
// Shared-Memory Multiprocessors", PPoPP 1991 (the locks that prefer readers or writers).
//
//   bits of the word | meaning                            | changed by
//   0-14   inside    | readers inside                     | readers
//   15     written   | a writer is inside                 | that writer
//   16-29  serving   | the ticket of the writer that may  | a writer that leaves
//                    | enter                              |
//   30     asleep    | threads may sleep on the low half  | a thread about to sleep; the thread
//                    |                                    | that wakes them
//   31     wanted    | `waiting` is not 0                 | as `waiting`
//   32-45  next      | the ticket of the next writer      | writers that arrive
//   48-63  waiting   | readers that wait, of the lock     | these readers
//                    | that prefers readers               |
//
// Tickets count modulo 2^14; `next` less `serving` writers are inside or wait.
//
// Invariants
//   EXCLUSION  `written` is set only while `inside` is 0, and `inside` leaves 0 only while
//              `written` is not set.
//   PREFERENCE a writer of the first lock sets `written` only while `waiting` is 0; a reader of the
//              second enters only while no writer is inside or waits, unless it passes.
//   NO-LOST-WAKE  a thread sleeps only on a low half with `asleep`. Each step that may admit a sleeper
//              clears `asleep`, and its thread wakes all: the last reader or a writer leaves, the
//              last waiting reader enters or gives up. What refuses a sleeper is in the low half, so
//              that it does not sleep past such a step where another one sets `asleep` again.
//   NO-TOUCH   a thread that leaves does not access the lock after the step that counts it out.
//
// Unlike in the published locks, waiters sleep after a while, a thread that reads already may pass
// waiting writers, and a writer with a deadline draws no ticket: it enters when no thread is before it.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/parts/wait.hpp"
#include "lockwright/rwlock.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env, preference Preferred>
class ticket_rw_preferring {
  static constexpr bool readers_first_ = Preferred == preference::readers;
  static_assert(readers_first_ || Preferred == preference::writers);

 public:
  static constexpr rwlock_traits traits{
      .preference = Preferred,
      .waiting = waiting::spin_then_park,
      .suits = readers_first_ ? "readers that must not wait, and writers that may"
                              : "writers in the order of their arrival, before all readers",
      .reference = "Mellor-Crummey and Scott, PPoPP 1991",
      .summary = readers_first_
                     ? "Writers enter in the order of their tickets, when no reader is inside or "
                       "waits. Waiters poll for a while and then sleep; a release wakes all."
                     : "Writers enter in the order of their tickets; readers enter when no writer "
                       "is inside or waits. Waiters poll for a while and then sleep; a release "
                       "wakes all."};
  static constexpr tunable_list<1> tunables{&spin_bound};
  /// No deadline.
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  admission lock_read(bool passes, std::uint64_t deadline = never) {
    admission outcome = try_lock_read(passes);
    if (outcome != admission::refused) {
      return outcome;
    }
    if constexpr (readers_first_) {
      change([](std::uint64_t seen) { return (seen + one_waiting_) | wanted_; });
    }
    const auto enter = [&](std::uint64_t& seen) {
      outcome = enter_as_reader(seen, passes, readers_first_);
      return outcome != admission::refused;
    };
    if (enter_until(deadline, enter)) {
      return outcome;
    }
    if constexpr (readers_first_) {
      change([](std::uint64_t seen) { return without_waiting_reader(seen); });
    }
    return admission::refused;
  }

  [[gnu::always_inline]] admission try_lock_read(bool passes) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    return enter_as_reader(seen, passes, false);
  }

  [[gnu::always_inline]] void unlock_read() {
    change([](std::uint64_t seen) {
      const std::uint64_t then = seen - 1;
      return inside(then) == 0 ? then & ~asleep_ : then;
    });
  }

  arrival lock_write() {
    if (try_lock_write()) {
      return arrival::uncontended;
    }
    const std::uint64_t mine = draw();
    enter_until(never, [this, mine](std::uint64_t& seen) {
      while (serving(seen) == mine && admits_writer(seen)) {
        // Acquire pairs with the releases of all that have left.
        if (word_.compare_exchange_weak(seen, seen | written_, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
          return true;
        }
      }
      return false;
    });
    return arrival::contended;
  }

  bool try_lock_write() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    return enter_as_writer(seen);
  }

  bool try_lock_write_until(std::uint64_t deadline) {
    return try_lock_write() ||
           enter_until(deadline, [this](std::uint64_t& seen) { return enter_as_writer(seen); });
  }

  /// The lock's own preference holds in any case.
  void unlock_write(bool = false) {
    change([](std::uint64_t seen) {
      const std::uint64_t serving_next = (serving(seen) + 1) & ticket_mask_;
      return (seen & ~(written_ | asleep_ | ticket_mask_ << serving_shift_)) |
             serving_next << serving_shift_;
    });
  }

  /// For a holder: true if it is a writer.
  bool is_written() const { return (word_.load(std::memory_order_relaxed) & written_) != 0; }

  /// True if any thread reads.
  bool is_read() const { return inside(word_.load(std::memory_order_relaxed)) != 0; }

  /// Called by the only thread of the child of a fork: the waiters are gone, and so is the writer,
  /// unless it `is_held`.
  void forget_waiters(bool is_held) {
    const std::uint64_t readers = inside(word_.load(std::memory_order_relaxed));
    const std::uint64_t writer = written_ | std::uint64_t{1} << next_shift_;
    word_.store(readers != 0 ? readers : is_held ? writer : 0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t inside_mask_ = (1 << 15) - 1;
  static constexpr std::uint64_t most_ = inside_mask_;
  static constexpr std::uint64_t written_ = 1 << 15;
  static constexpr unsigned serving_shift_ = 16;
  static constexpr std::uint64_t asleep_ = 1 << 30;
  static constexpr std::uint64_t wanted_ = std::uint64_t{1} << 31;
  static constexpr unsigned next_shift_ = 32;
  static constexpr std::uint64_t ticket_mask_ = (1 << 14) - 1;
  static constexpr std::uint64_t one_waiting_ = std::uint64_t{1} << 48;

  static std::uint64_t inside(std::uint64_t word) { return word & inside_mask_; }
  static std::uint64_t serving(std::uint64_t word) { return word >> serving_shift_ & ticket_mask_; }
  static std::uint64_t next(std::uint64_t word) { return word >> next_shift_ & ticket_mask_; }

  static std::uint64_t with_next(std::uint64_t word) {
    return (word & ~(ticket_mask_ << next_shift_)) | ((next(word) + 1) & ticket_mask_)
                                                         << next_shift_;
  }

  static bool admits_writer(std::uint64_t word) {
    return inside(word) == 0 && (word & (written_ | wanted_)) == 0;
  }

  static bool admits_reader(std::uint64_t word, bool passes) {
    return (word & written_) == 0 &&
           (readers_first_ || serving(word) == next(word) || (passes && inside(word) != 0));
  }

  static std::uint64_t with_one_less_waiting(std::uint64_t word) {
    const std::uint64_t then = word - one_waiting_;
    return then < one_waiting_ ? then & ~wanted_ : then;
  }

  /// Where the last waiting reader is gone, a writer may enter that sleeps.
  static std::uint64_t without_waiting_reader(std::uint64_t word) {
    const std::uint64_t then = with_one_less_waiting(word);
    return (then & wanted_) == 0 ? then & ~asleep_ : then;
  }

  // These leave the word in `seen` that refuses the caller, on which it may sleep.

  bool enter_as_writer(std::uint64_t& seen) {
    while (serving(seen) == next(seen) && admits_writer(seen)) {
      // Acquire pairs with the releases of all that have left.
      if (word_.compare_exchange_weak(seen, with_next(seen) | written_, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  [[gnu::always_inline]] admission enter_as_reader(std::uint64_t& seen, bool passes, bool waits) {
    while (admits_reader(seen, passes)) [[likely]] {
      if (inside(seen) == most_) [[unlikely]] {
        if (waits) {
          change([](std::uint64_t now) { return without_waiting_reader(now); });
        }
        return admission::too_many;
      }
      // A writer need not be woken for the last waiting reader: that one is inside now.
      // Acquire pairs with the release of the last writer.
      if (word_.compare_exchange_weak(seen, (waits ? with_one_less_waiting(seen) : seen) + 1,
                                      std::memory_order_acquire, std::memory_order_relaxed)) {
        return admission::inside;
      }
    }
    return admission::refused;
  }

  std::uint64_t draw() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (((next(seen) - serving(seen)) & ticket_mask_) == ticket_mask_) [[unlikely]] {
        Env::yield();
        seen = word_.load(std::memory_order_relaxed);
      } else if (word_.compare_exchange_weak(seen, with_next(seen), std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
        return next(seen);
      }
    }
  }

  /// Replaces the word by then(word), and wakes all sleepers if that has cleared `asleep`. The lock
  /// may be destroyed after the step: only its address is used.
  template <class Then>
  void change(Then then) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    std::uint64_t next_word = 0;
    do {
      next_word = then(seen);
      // Release: where a section ends.
    } while (!word_.compare_exchange_weak(seen, next_word, std::memory_order_release,
                                          std::memory_order_relaxed));
    if ((seen & ~next_word & asleep_) != 0) {
      Env::wake_low(word_, ~std::uint32_t{0});
    }
  }

  /// Calls enter(word) until it succeeds or the deadline has passed; returns whether it succeeded.
  template <class Enter>
  [[gnu::noinline]] bool enter_until(std::uint64_t deadline, Enter enter) {
    const std::uint64_t spun = Env::now() + Env::template value<spin_bound>();
    std::uint64_t seen = 0;
    const auto attempt = [&] {
      seen = word_.load(std::memory_order_relaxed);
      return enter(seen);
    };
    if (poll_until<Env>(spun < deadline ? spun : deadline, attempt)) {
      return true;
    }
    while (!attempt()) {
      if (deadline != never && Env::now() >= deadline) {
        return false;
      }
      // Relaxed: a sleep publishes nothing.
      if ((seen & asleep_) != 0 ||
          word_.compare_exchange_strong(seen, seen | asleep_, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
        const auto low = static_cast<std::uint32_t>(seen | asleep_);
        if (deadline == never) {
          Env::wait_low(word_, low);
        } else {
          Env::wait_low_until(word_, low, deadline);
        }
      }
    }
    return true;
  }

  typename Env::template atomic<std::uint64_t> word_{};
};

}  // namespace lockwright
