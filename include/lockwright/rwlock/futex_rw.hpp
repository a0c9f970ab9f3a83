// futex-rw: one word that counts readers and waiting writers, with a futex in each half: readers sleep
// on one, writers on the other. A waiting writer holds new readers back, and a release wakes one
// writer or, without writers, all readers; a woken thread competes with arriving ones.
//
// Citation: Rust's standard library, std::sys::sync::rwlock::futex (M. Bos, 2022), whose word has
// flags for waiting threads where this one counts the writers.
//
//   bits of the word | meaning                                       | changed by
//   0-30   inside    | readers inside; all ones: a writer            | all that enter and leave
//   31     asleep    | readers may sleep on the low half             | a reader about to sleep;
//                    |                                               | the thread that wakes them
//   32-47  waiting   | writers that wait, polling or asleep          | each of these
//   48-63  releases  | counts the releases that leave it to a writer | the last thread to leave
//
//          lock_read, no writer waits               lock_write
//   1..n inside <-------------------- free ----------------------> a writer inside
//
// Invariants
//   EXCLUSION  a thread writes `inside` as all ones only where it was 0; a reader adds one only
//              where it was not all ones.
//   PREFERENCE a reader enters only where no writer waits, or, if it passes, beside another reader.
//   NO-LOST-WAKE-WRITER  a writer sleeps only on a high half that it saw with a thread inside; the
//              step that frees the lock while writers wait changes the high half, and its thread
//              wakes one. A writer gives up only while a thread is inside, which wakes the next.
//   NO-LOST-WAKE-READER  a reader sleeps only on a low half with `asleep`, which it saw with a writer
//              inside or waiting. The step that ends both clears `asleep`, and its thread wakes all.
//   NO-TOUCH   a thread that leaves does not access the lock after the step that counts it
//              out, whatever it wakes; so the next holder may destroy the lock.
//
// Writers may starve readers. The word counts up to 65,535 waiting writers; a further one yields until
// there are fewer.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/parts/reader_entry.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/rwlock.hpp"
#include "lockwright/rwlock_uses.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class futex_rw {
 public:
  static constexpr rwlock_traits traits{
      .preference = preference::writers,
      .waiting = waiting::spin_then_park,
      .suits = "few writers, which must not wait long",
      .reference = "Rust's standard library, 2022",
      .summary =
          "One word counts the readers inside and the writers that wait; a waiting writer holds "
          "new readers back. Waiters poll for a while and then sleep."};
  static constexpr rwlock_uses uses{
      .cases = {{rwlock_use_case::starved_writers, 2,
                 "a waiting writer comes before later readers"},
                {rwlock_use_case::read_and_written, 2,
                 "one word, and a waiting writer comes before later readers"}},
      .reader_path = reader_path::inlined};
  static constexpr tunable_list<1> tunables{&spin_bound};
  /// No deadline.
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  admission lock_read(bool passes, std::uint64_t deadline = never) {
    const admission outcome = try_lock_read(passes);
    return outcome == admission::refused ? wait_and_read(passes, deadline) : outcome;
  }

  [[gnu::always_inline]] admission try_lock_read(bool passes) {
    return enter_as_reader(word_, std::uint64_t{1}, waiting_ | many_,
                           [passes](std::uint64_t seen) __attribute__((always_inline)) {
                             return !is_open(seen, passes)  ? admission::refused
                                    : inside(seen) == most_ ? admission::too_many
                                                            : admission::inside;
                           });
  }

  [[gnu::always_inline]] void unlock_read() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    std::uint64_t then = 0;
    bool wakes = false;
    do {
      then = seen - 1;
      wakes = (seen & (waiting_ | asleep_)) != 0 && inside(then) == 0;
      if (wakes) [[unlikely]] {
        then = released(seen);
      }
      // Release: this section is over. Nothing is acquired: a woken thread reads the word.
    } while (!word_.compare_exchange_weak(seen, then, std::memory_order_release,
                                          std::memory_order_relaxed));
    if (wakes) [[unlikely]] {
      wake_after(seen, then);
    }
  }

  arrival lock_write() {
    if (try_lock_write()) {
      return arrival::uncontended;
    }
    wait_and_write(never);
    return arrival::contended;
  }

  bool try_lock_write() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    while (inside(seen) == 0) {
      // Acquire pairs with the releases of all that leave.
      if (word_.compare_exchange_weak(seen, seen | written_, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  bool try_lock_write_until(std::uint64_t deadline) {
    return try_lock_write() || wait_and_write(deadline);
  }

  /// Waiting writers come first always.
  void unlock_write(bool = false) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    std::uint64_t then = 0;
    do {
      then = released(seen);
      // Release: this section is over.
    } while (!word_.compare_exchange_weak(seen, then, std::memory_order_release,
                                          std::memory_order_relaxed));
    wake_after(seen, then);
  }

  /// For a holder: true if it is a writer.
  bool is_written() const { return inside(word_.load(std::memory_order_relaxed)) == written_; }

  /// True if any thread reads.
  bool is_read() const {
    // Unsigned: one comparison also excludes 0.
    return inside(word_.load(std::memory_order_relaxed)) - 1 < most_;
  }

  /// Called by the only thread of the child of a fork: the waiters are gone, and so is the writer,
  /// unless it `is_held`.
  void forget_waiters(bool is_held) {
    const std::uint64_t holders = inside(word_.load(std::memory_order_relaxed));
    word_.store(holders == written_ && !is_held ? 0 : holders, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t written_ = (std::uint64_t{1} << 31) - 1;
  static constexpr std::uint64_t most_ = written_ - 1;
  /// The bit that is set where a writer is inside, or more readers than half of most_.
  static constexpr std::uint64_t many_ = std::uint64_t{1} << 30;
  static constexpr std::uint64_t asleep_ = std::uint64_t{1} << 31;
  static constexpr std::uint64_t one_waiting_ = std::uint64_t{1} << 32;
  static constexpr std::uint64_t waiting_ = 0xffff * one_waiting_;
  static constexpr std::uint64_t one_release_ = std::uint64_t{1} << 48;

  static std::uint64_t inside(std::uint64_t word) { return word & written_; }

  static bool is_open(std::uint64_t word, bool passes) {
    const std::uint64_t holders = inside(word);
    return holders != written_ && ((word & waiting_) == 0 || (passes && holders != 0));
  }

  /// The word once its last holder has left.
  static std::uint64_t released(std::uint64_t word) {
    const std::uint64_t free = word & ~written_;
    return (word & waiting_) != 0 ? free + one_release_ : free & ~asleep_;
  }

  /// Wakes after a step from `seen` to `then`. The lock may be destroyed already: only its address is
  /// used.
  void wake_after(std::uint64_t seen, std::uint64_t then) {
    if ((then & waiting_) != 0) {
      Env::wake_high(word_, 1);
    } else if ((seen & asleep_) != 0) {
      Env::wake_low(word_, ~std::uint32_t{0});
    }
  }

  /// Polls until take() succeeds, the spin bound is over or the deadline has passed.
  template <class Take>
  static bool poll(std::uint64_t deadline, Take take) {
    const std::uint64_t spun = Env::now() + Env::template value<spin_bound>();
    return poll_until<Env>(spun < deadline ? spun : deadline, take);
  }

  [[gnu::noinline]] admission wait_and_read(bool passes, std::uint64_t deadline) {
    admission outcome = admission::refused;
    const auto enter = [&] {
      outcome = try_lock_read(passes);
      return outcome != admission::refused;
    };
    if (poll(deadline, enter)) {
      return outcome;
    }
    for (;;) {
      std::uint64_t seen = word_.load(std::memory_order_relaxed);
      if (!is_open(seen, passes) && (deadline == never || Env::now() < deadline)) {
        if ((seen & asleep_) != 0 ||
            word_.compare_exchange_weak(seen, seen | asleep_, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
          const auto low = static_cast<std::uint32_t>(seen | asleep_);
          if (deadline == never) {
            Env::wait_low(word_, low);
          } else {
            Env::wait_low_until(word_, low, deadline);
          }
        }
      } else if (enter() || (deadline != never && Env::now() >= deadline)) {
        return outcome;
      }
    }
  }

  [[gnu::noinline]] bool wait_and_write(std::uint64_t deadline) {
    // Relaxed, here and where a writer gives up: these steps publish nothing.
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    do {
      while ((seen & waiting_) == waiting_) [[unlikely]] {
        Env::yield();
        seen = word_.load(std::memory_order_relaxed);
      }
    } while (!word_.compare_exchange_weak(seen, seen + one_waiting_, std::memory_order_relaxed,
                                          std::memory_order_relaxed));
    if (poll(deadline, [this] { return enter_from_waiting(); })) {
      return true;
    }
    for (;;) {
      seen = word_.load(std::memory_order_relaxed);
      if (inside(seen) == 0) {
        if (enter_from_waiting()) {
          return true;
        }
      } else if (deadline == never) {
        Env::wait_high(word_, static_cast<std::uint32_t>(seen >> 32));
      } else if (Env::now() < deadline) {
        Env::wait_high_until(word_, static_cast<std::uint32_t>(seen >> 32), deadline);
      } else if (withdraw(seen)) {
        return false;
      }
    }
  }

  bool enter_from_waiting() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    // Acquire pairs with the releases of all that leave.
    return inside(seen) == 0 &&
           word_.compare_exchange_weak(seen, (seen | written_) - one_waiting_,
                                       std::memory_order_acquire, std::memory_order_relaxed);
  }

  /// Counts the caller as waiting no more. The lock is not free, so that its holder wakes the
  /// next writer; readers that only writers have kept out are woken here.
  bool withdraw(std::uint64_t seen) {
    std::uint64_t then = seen - one_waiting_;
    const bool opens = (then & waiting_) == 0 && inside(then) != written_;
    then = opens ? then & ~asleep_ : then;
    if (!word_.compare_exchange_strong(seen, then, std::memory_order_relaxed,
                                       std::memory_order_relaxed)) {
      return false;
    }
    if (opens && (seen & asleep_) != 0) {
      Env::wake_low(word_, ~std::uint32_t{0});
    }
    return true;
  }

  typename Env::template atomic<std::uint64_t> word_{};
};

}  // namespace lockwright
