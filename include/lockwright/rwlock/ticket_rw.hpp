// ticket-rw-fair: readers and writers draw tickets from one counter and enter in their order,
// consecutive readers together. Two more counters say which ticket may enter as a reader and which as a
// writer.
//
// Citation: J. Mellor-Crummey and M. Scott, "Scalable Reader-Writer Synchronization for
// Shared-Memory Multiprocessors", PPoPP 1991 (the fair lock with tickets).
//
//   bits of the word | meaning                                      | changed by
//   0-14   readers   | the ticket that may enter as a reader: that  | a reader that enters; a
//                    | many readers have entered or writers left    | writer that leaves
//   15-29  writers   | the ticket that may enter as a writer: that  | all that leave
//                    | many threads have left                       |
//   30     asleep    | threads may sleep on the low half            | a thread about to sleep; the
//                    |                                              | thread that wakes them
//   32-46  next      | the next ticket                              | all that arrive
//   47-63  again     | further entries of readers that passed       | these readers
//
// All tickets count modulo 2^15. `readers` less `writers` readers are inside.
//
// Invariants
//   EXCLUSION  a writer is inside only while `writers` is its ticket, so that all before it have left;
//              `readers` is the same, and no later reader enters until it leaves.
//   ORDER      a thread that waits without a deadline enters in the order of the tickets.
//   NO-LOST-WAKE  a thread sleeps only on a low half with `asleep`. Each step that may admit a
//              sleeper clears `asleep`, and its thread wakes all: a reader enters, the last
//              reader or a writer leaves.
//   UNITS      `again` is above 0 only while a reader is inside. All readers are alike, so a reader
//              that leaves takes one from `again` if it can.
//   NO-TOUCH   a thread that leaves does not access the lock after the step that counts it out.
//
// Unlike in the published lock, waiters sleep after a while, a thread that reads already may pass
// waiting writers, and a thread with a deadline draws no ticket: it enters when no thread is before it.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/parts/wait.hpp"
#include "lockwright/rwlock.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class ticket_rw {
 public:
  static constexpr rwlock_traits traits{
      .preference = preference::fifo,
      .waiting = waiting::spin_then_park,
      .suits = "few threads, none of which may wait long",
      .reference = "Mellor-Crummey and Scott, PPoPP 1991",
      .summary =
          "Readers and writers enter in the order of their tickets, consecutive readers together. "
          "Waiters poll for a while and then sleep; a release wakes all."};
  static constexpr tunable_list<1> tunables{&spin_bound};
  /// No deadline.
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  admission lock_read(bool passes, std::uint64_t deadline = never) {
    const admission outcome = try_lock_read(passes);
    if (outcome != admission::refused) {
      return outcome;
    }
    if (deadline != never) {
      admission later = admission::refused;
      enter_until(deadline, [&](std::uint64_t& seen) {
        later = enter_as_reader(seen, passes);
        return later != admission::refused;
      });
      return later;
    }
    const std::uint64_t mine = draw();
    await([&](std::uint64_t seen) { return field(seen, readers_) == mine; });
    enter_in_order();
    return admission::inside;
  }

  [[gnu::always_inline]] admission try_lock_read(bool passes) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    return enter_as_reader(seen, passes);
  }

  [[gnu::always_inline]] void unlock_read() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const bool again = seen >= one_again_;
      const bool last = !again && readers_inside(seen) == 1;
      std::uint64_t then = again ? seen - one_again_ : plus_one(seen, writers_);
      then = last ? then & ~asleep_ : then;
      // Release: this section is over.
      if (word_.compare_exchange_weak(seen, then, std::memory_order_release,
                                      std::memory_order_relaxed)) {
        wake_if_asleep(seen, then);
        return;
      }
    }
  }

  arrival lock_write() {
    if (try_lock_write()) {
      return arrival::uncontended;
    }
    const std::uint64_t mine = draw();
    // Acquire pairs with the releases of all that have left.
    await([&](std::uint64_t seen) { return field(seen, writers_) == mine; });
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

  /// The order of the tickets holds in any case.
  void unlock_write(bool = false) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    std::uint64_t then = 0;
    do {
      then = plus_one(plus_one(seen, readers_), writers_) & ~asleep_;
      // Release: this section is over.
    } while (!word_.compare_exchange_weak(seen, then, std::memory_order_release,
                                          std::memory_order_relaxed));
    wake_if_asleep(seen, then);
  }

  /// For a holder: true if it is a writer.
  bool is_written() const {
    const std::uint64_t seen = word_.load(std::memory_order_relaxed);
    return readers_inside(seen) == 0 && drawn(seen) != 0;
  }

  /// True if any thread reads.
  bool is_read() const { return readers_inside(word_.load(std::memory_order_relaxed)) != 0; }

  /// Called by the only thread of the child of a fork: the waiters are gone, and so is the writer,
  /// unless it `is_held`.
  void forget_waiters(bool is_held) {
    const std::uint64_t seen = word_.load(std::memory_order_relaxed);
    const std::uint64_t inside = readers_inside(seen);
    const std::uint64_t tickets = inside != 0 ? inside : is_held ? 1 : 0;
    word_.store((seen & ~(one_again_ - 1)) | tickets << next_ | inside << readers_,
                std::memory_order_relaxed);
  }

 private:
  // Shifts of the fields.
  static constexpr unsigned readers_ = 0;
  static constexpr unsigned writers_ = 15;
  static constexpr unsigned next_ = 32;
  static constexpr unsigned again_shift_ = 47;
  static constexpr std::uint64_t mask_ = (1 << 15) - 1;
  static constexpr std::uint64_t most_ = mask_;
  static constexpr std::uint64_t asleep_ = 1 << 30;
  static constexpr std::uint64_t one_again_ = std::uint64_t{1} << again_shift_;
  static constexpr std::uint64_t most_again_ = (1 << 17) - 1;

  static std::uint64_t field(std::uint64_t word, unsigned shift) { return word >> shift & mask_; }

  static std::uint64_t plus_one(std::uint64_t word, unsigned shift) {
    return (word & ~(mask_ << shift)) | ((field(word, shift) + 1) & mask_) << shift;
  }

  static std::uint64_t readers_inside(std::uint64_t word) {
    return (field(word, readers_) - field(word, writers_)) & mask_;
  }

  /// The number of threads that are inside or wait with a ticket.
  static std::uint64_t drawn(std::uint64_t word) {
    return (field(word, next_) - field(word, writers_)) & mask_;
  }

  // These leave the word in `seen` that refuses the caller, on which it may sleep.

  [[gnu::always_inline]] admission enter_as_reader(std::uint64_t& seen, bool passes) {
    for (;;) {
      std::uint64_t then = 0;
      if (field(seen, readers_) == field(seen, next_)) [[likely]] {
        if (drawn(seen) == most_) [[unlikely]] {
          return admission::too_many;
        }
        then = plus_one(plus_one(seen, next_), readers_);
      } else if (passes && readers_inside(seen) != 0) {
        if (seen >> again_shift_ == most_again_) [[unlikely]] {
          return admission::too_many;
        }
        then = seen + one_again_;
      } else {
        return admission::refused;
      }
      // Acquire pairs with the release of the last writer.
      if (word_.compare_exchange_weak(seen, then, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return admission::inside;
      }
    }
  }

  bool enter_as_writer(std::uint64_t& seen) {
    while (field(seen, writers_) == field(seen, next_)) {
      // Acquire pairs with the releases of all that have left.
      if (word_.compare_exchange_weak(seen, plus_one(seen, next_), std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  std::uint64_t draw() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (drawn(seen) == most_) [[unlikely]] {
        Env::yield();
        seen = word_.load(std::memory_order_relaxed);
      } else if (word_.compare_exchange_weak(seen, plus_one(seen, next_), std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
        return field(seen, next_);
      }
    }
  }

  /// Called by the reader whose ticket may enter: admits the next one.
  void enter_in_order() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    std::uint64_t then = 0;
    do {
      then = plus_one(seen, readers_) & ~asleep_;
      // Relaxed: the load in await() has acquired.
    } while (!word_.compare_exchange_weak(seen, then, std::memory_order_relaxed,
                                          std::memory_order_relaxed));
    wake_if_asleep(seen, then);
  }

  /// The lock may be destroyed already: only the word's address is used.
  void wake_if_asleep(std::uint64_t before, std::uint64_t now) {
    if ((before & ~now & asleep_) != 0) {
      Env::wake_low(word_, ~std::uint32_t{0});
    }
  }

  /// Returns once the word satisfies `admits`, which it then does until the caller enters.
  template <class Admits>
  [[gnu::noinline]] void await(Admits admits) {
    std::uint64_t seen = 0;
    const auto comes = [&] { return admits(seen = word_.load(std::memory_order_acquire)); };
    if (poll_until<Env>(Env::now() + Env::template value<spin_bound>(), comes)) {
      return;
    }
    while (!comes()) {
      if (announce_sleep(seen)) {
        Env::wait_low(word_, static_cast<std::uint32_t>(seen | asleep_));
      }
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
      if (Env::now() >= deadline) {
        return false;
      }
      if (announce_sleep(seen)) {
        Env::wait_low_until(word_, static_cast<std::uint32_t>(seen | asleep_), deadline);
      }
    }
    return true;
  }

  bool announce_sleep(std::uint64_t& seen) {
    // Relaxed: a sleep publishes nothing.
    return (seen & asleep_) != 0 ||
           word_.compare_exchange_strong(seen, seen | asleep_, std::memory_order_relaxed,
                                         std::memory_order_relaxed);
  }

  typename Env::template atomic<std::uint64_t> word_{};
};

}  // namespace lockwright
