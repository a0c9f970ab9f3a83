// shfl-rw: a word that counts readers, and ShflLock as the queue of the threads that have to wait.
// Only the holder of the queue waits at the word.
//
// Citation: S. Kashyap, I. Calciu, X. Cheng, C. Min, T. Kim, "Scalable and Practical Locking with
// Shuffling", SOSP 2019 (the reader-writer lock, blocking); its word is that of Linux's qrwlock
// (W. Long, 2014).
//
//   bits of the word | meaning                                     | changed by
//   written  (0)     | a writer is inside                          | writers
//   waits    (1)     | the holder of the queue waits: arriving     | that thread
//                    | threads have to queue                       |
//   asleep   (2)     | it sleeps on the word, or is about to       | that thread; an unlock
//   readers  (3-31)  | readers inside                              | readers
//
//   queue: a mutex whose holder is the front waiter, until it is inside, see shfllock
//
// Invariants
//   EXCLUSION  `written` is set only in a step from a word without it and without readers; a reader
//              is added only in a step from a word without `written`, or beside a reader.
//   ONE-WAITER only the holder of the queue sets `waits` and `asleep`, and sleeps on the word.
//   FRONT      while `waits` is set, no thread but the front waiter enters, except a
//              reader that passes, beside another reader.
//   NO-LOST-WAKE  the front waiter sleeps on a word with `asleep`; a writer that leaves, or the last
//              reader, finds that in the step by which it leaves, and wakes it.
//   NO-TOUCH   after that step a thread that leaves uses only the word's address.
//
// In the published lock the readers are counted in one word, too. Here the front waiter sleeps after
// the spin bound. A timed acquisition of the queue repeats trylock, after sleeps of growing length,
// and a thread that reads already may pass a waiting writer, as otherwise it would wait for itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>

#include "lockwright/lock/shfllock.hpp"
#include "lockwright/parts/reader_entry.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/rwlock.hpp"
#include "lockwright/rwlock_uses.hpp"

namespace lockwright {

template <class Env>
class shfl_rw {
  using queue_lock = shfllock<Env, shfl_park>;

 public:
  static constexpr rwlock_traits traits{
      .preference = preference::none,
      .waiting = waiting::spin_then_park,
      .numa_aware = true,
      .node_bytes = queue_lock::traits.node_bytes,
      .suits = "writers on several NUMA nodes, and few readers at once",
      .reference = "Kashyap, Calciu, Cheng, Min and Kim, SOSP 2019",
      .summary =
          "One word counts the readers; threads that have to wait queue in ShflLock, which brings "
          "those of a NUMA node together. Compact and NUMA-aware; all readers write one word."};
  static constexpr rwlock_uses uses{
      .cases = {{rwlock_use_case::crowded, 2, "gained with more threads than processors"}},
      .reader_path = reader_path::inlined};

  static constexpr auto tunables = queue_lock::tunables;

  /// No deadline.
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  admission lock_read(bool passes, std::uint64_t deadline = never) {
    const admission outcome = try_lock_read(passes);
    return outcome == admission::refused ? wait_and_read(deadline) : outcome;
  }

  [[gnu::always_inline]] admission try_lock_read(bool passes) {
    return enter_as_reader(word_, one_reader_, written_ | waits_ | many_,
                           [passes](std::uint32_t seen) __attribute__((always_inline)) {
                             return !is_open(seen, passes)        ? admission::refused
                                    : seen / one_reader_ == most_ ? admission::too_many
                                                                  : admission::inside;
                           });
  }

  [[gnu::always_inline]] void unlock_read() {
    // Release: this section is over.
    const std::uint32_t before = word_.fetch_sub(one_reader_, std::memory_order_release);
    if ((before & asleep_) != 0 && before / one_reader_ == 1) [[unlikely]] {
      Env::wake(word_, 1);
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
    std::uint32_t free = 0;
    // Acquire, here and below, pairs with the releases of all that leave.
    return word_.load(std::memory_order_relaxed) == free &&
           word_.compare_exchange_strong(free, written_, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  bool try_lock_write_until(std::uint64_t deadline) {
    return try_lock_write() || wait_and_write(deadline);
  }

  /// The front waiter comes next, whichever it is.
  void unlock_write(bool = false) {
    // Release: this section is over.
    if ((word_.fetch_and(~(written_ | asleep_), std::memory_order_release) & asleep_) != 0)
        [[unlikely]] {
      Env::wake(word_, 1);
    }
  }

  /// For a holder: true if it is a writer.
  bool is_written() const { return (word_.load(std::memory_order_relaxed) & written_) != 0; }

  /// True if any thread reads.
  bool is_read() const { return word_.load(std::memory_order_relaxed) >= one_reader_; }

  /// Called by the only thread of the child of a fork: the waiters are gone, and so is the writer,
  /// unless it `is_held`.
  void forget_waiters(bool is_held) {
    const std::uint32_t seen = word_.load(std::memory_order_relaxed);
    word_.store(seen / one_reader_ * one_reader_ | (is_held ? written_ : 0),
                std::memory_order_relaxed);
    ::new (&queue_) queue_lock;
  }

 private:
  static constexpr std::uint32_t written_ = 1;
  static constexpr std::uint32_t waits_ = 2;
  static constexpr std::uint32_t asleep_ = 4;
  static constexpr std::uint32_t one_reader_ = 8;
  static constexpr std::uint32_t most_ = ~std::uint32_t{0} / one_reader_;
  /// The bit that is set where more readers than half of most_ are inside.
  static constexpr std::uint32_t many_ = (most_ / 2 + 1) * one_reader_;

  static bool is_open(std::uint32_t word, bool passes) {
    return (word & (written_ | waits_)) == 0 || (passes && word >= one_reader_);
  }

  [[gnu::noinline]] admission wait_and_read(std::uint64_t deadline) {
    if (!lock_queue(deadline)) {
      return admission::refused;
    }
    admission outcome = admission::inside;
    const bool entered = enter(deadline, [&outcome](std::uint32_t seen, std::uint32_t& then) {
      if (seen / one_reader_ == most_) {
        outcome = admission::too_many;
        then = seen & ~(waits_ | asleep_);
        return true;
      }
      then = (seen & ~(waits_ | asleep_)) + one_reader_;
      return (seen & written_) == 0;
    });
    queue_.unlock();
    return entered ? outcome : admission::refused;
  }

  /// True once inside, false after the deadline.
  [[gnu::noinline]] bool wait_and_write(std::uint64_t deadline) {
    if (!lock_queue(deadline)) {
      return false;
    }
    const bool entered = enter(deadline, [](std::uint32_t seen, std::uint32_t& then) {
      then = written_;
      return (seen & written_) == 0 && seen < one_reader_;
    });
    queue_.unlock();
    return entered;
  }

  [[gnu::noinline]] bool lock_queue(std::uint64_t deadline) {
    if (deadline == never) {
      queue_.lock();
      return true;
    }
    return queue_.try_lock_until(deadline);
  }

  /// Called by the holder of the queue: waits until next(word, then) is true, and makes it `then`.
  /// False after the deadline.
  template <class Next>
  bool enter(std::uint64_t deadline, Next next) {
    const std::uint64_t spun = Env::now() + Env::template value<spin_bound>();
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      std::uint32_t then = 0;
      if (next(seen, then)) {
        if (word_.compare_exchange_weak(seen, then, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
          return true;
        }
        continue;
      }
      const std::uint64_t now = Env::now();
      if (now >= deadline) {
        word_.fetch_and(~(waits_ | asleep_), std::memory_order_relaxed);
        return false;
      }
      const std::uint32_t wanted = seen | waits_ | (now < spun ? 0 : asleep_);
      if (wanted != seen && !word_.compare_exchange_weak(seen, wanted, std::memory_order_relaxed,
                                                         std::memory_order_relaxed)) {
        continue;
      }
      if ((wanted & asleep_) == 0) {
        Env::relax();
      } else {
        sleep_on<Env>(word_, wanted, deadline);
      }
      seen = word_.load(std::memory_order_relaxed);
    }
  }

  typename Env::template atomic<std::uint32_t> word_{};
  queue_lock queue_;
};

}  // namespace lockwright
