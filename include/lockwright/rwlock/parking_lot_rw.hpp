// parking-lot-rw: one word, and a table per process in which the waiters of all such locks sleep. A
// writer that has announced itself holds back new readers; an unlock wakes a writer, or all readers
// and a writer, which compete with arriving threads, but about every half a millisecond they are
// handed the lock.
//
// Citation: A. d'Antras, parking_lot for Rust, 2016 (RawRwLock), after F. Pizlo, "Locking in
// WebKit", webkit.org/blog/6161, 2016.
//
//   bits of the word | meaning                                  | changed by
//   parked   (0)     | a thread sleeps at the lock's address in | a waiter about to sleep; an
//                    | the table, or is about to                | unlock, at the table
//   drains   (1)     | the writer that has `written` sleeps at  | that writer
//                    | the next address, or is about to         |
//   written  (2)     | a writer is inside, or waits for the     | that writer; an unlock that
//                    | readers inside to leave                  | hands over
//   readers  (3-31)  | readers inside                           | readers; an unlock that hands over
//
// Invariants
//   EXCLUSION  a writer is inside only while `written` is set and no reader is counted; it set
//              `written` itself, or was handed it. A reader that finds `written` does not enter,
//              except one that passes, beside another reader.
//   NO-LOST-WAKE  a thread sleeps only if the word was `written parked` with the address's bucket
//              locked; the thread that clears `written` and finds `parked` goes there.
//   CHAIN      if sleepers remain, all of them are writers, and a writer was woken or
//              handed the lock: it wakes them when it leaves. A thread gives up only
//              while it is among the sleepers, or at once, so it never takes a wake with it.
//   DRAINED    the last reader to leave unparks the writer that drains, with nothing but its
//              address: the lock may be gone. The writer checks the word after each wake.
//   FAIR       an unlock hands over if the bucket's last fair handover is longer ago than a random
//              time of up to `fair-ns`.
//
// The published lock has a third kind of holder, an upgradable reader, which POSIX has not. Its
// tables grow with the number of threads; this one does not. Here a thread that reads already may
// pass a waiting writer, as otherwise it would wait for itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/parts/parking_table.hpp"
#include "lockwright/parts/reader_entry.hpp"
#include "lockwright/rwlock.hpp"
#include "lockwright/rwlock_uses.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class parking_lot_rw {
  using table = parking_table<Env>;
  using wakeup = typename table::wakeup;

 public:
  static constexpr rwlock_traits traits{
      .preference = preference::none,
      .waiting = waiting::spin_then_park,
      .node_bytes = 2 * table::node_bytes,  // one asleep; one for the bucket lock
      .suits = "many locks, and threads that outnumber the processors",
      .reference = "d'Antras, parking_lot, 2016",
      .summary =
          "One word; waiters sleep in a table that all locks share, and compete when they are "
          "woken, except that one in a while they are handed the lock. A waiting writer holds "
          "back new readers."};
  static constexpr rwlock_uses uses{
      .cases = {{rwlock_use_case::crowded, 1,
                 "its waiters sleep; threads outnumber the processors"},
                {rwlock_use_case::read_and_written, 1, "few steps for writers"}},
      .reader_path = reader_path::second};

  static constexpr tunable spins{
      .name = "spins",
      .default_value = 10,
      .counted_in = unit::count,
      .min = 0,
      .max = 1u << 20,
      .model_value = 0,
      .meaning =
          "how often a thread polls before it sleeps, while no other thread sleeps; from the "
          "fourth time on it yields",
      .source = "parking_lot (SpinWait)"};
  static constexpr tunable fair{
      .name = "fair-ns",
      .default_value = 1'000'000,
      .counted_in = unit::nanoseconds,
      .min = 1,
      .max = 0xffff'ffffu,
      .model_value = 1,
      .meaning = "the longest time between two fair handovers, which is random",
      .source = "parking_lot: half a millisecond on average"};
  static constexpr auto tunables = join(tunable_list<2>{&spins, &fair}, wordlock<Env>::tunables);

  /// The size of the table that all locks of the process share.
  static constexpr std::size_t common_bytes = sizeof(table);

  /// No deadline.
  static constexpr std::uint64_t never = table::never;

  admission lock_read(bool passes, std::uint64_t deadline = never) {
    const admission outcome = try_lock_read(passes);
    return outcome == admission::refused ? wait_and_read(passes, deadline) : outcome;
  }

  [[gnu::always_inline]] admission try_lock_read(bool passes) {
    return enter_as_reader(word_, one_reader_, written_ | many_,
                           [passes](std::uint32_t seen) __attribute__((always_inline)) {
                             return !is_open(seen, passes)        ? admission::refused
                                    : seen / one_reader_ == most_ ? admission::too_many
                                                                  : admission::inside;
                           });
  }

  void unlock_read() {
    if (leave_read()) [[unlikely]] {
      wake_after_read();
    }
  }

  /// The first step of unlock_read(). Returns true if the caller has to take the second one,
  /// wake_after_read().
  [[gnu::always_inline]] bool leave_read() {
    // Release: this section is over.
    const std::uint32_t before = word_.fetch_sub(one_reader_, std::memory_order_release);
    return (before & drains_) != 0 && before / one_reader_ == 1;
  }

  /// Wakes the writer that waits for the last reader. The lock may be destroyed already: only its
  /// address is used.
  [[gnu::noinline]] void wake_after_read() {
    table::shared().unpark_one(next_address(), Env::template value<fair>(),
                               [](const auto&) { return false; });
  }

  arrival lock_write() {
    if (try_lock_write()) {
      return arrival::uncontended;
    }
    wait_and_write(never);
    return arrival::contended;
  }

  bool try_lock_write() {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    while (seen < one_reader_ && (seen & written_) == 0) {
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

  /// `writers_first`: a sleeping writer is woken before the sleeping readers.
  void unlock_write(bool writers_first = false) {
    std::uint32_t seen = written_;
    // Release: this section is over.
    if (!word_.compare_exchange_strong(seen, 0, std::memory_order_release,
                                       std::memory_order_relaxed)) [[unlikely]] {
      clear_and_wake(writers_first);
    }
  }

  /// For a holder: true if it is a writer.
  bool is_written() const {
    const std::uint32_t seen = word_.load(std::memory_order_relaxed);
    return (seen & written_) != 0 && seen < one_reader_;
  }

  /// True if any thread reads.
  bool is_read() const { return word_.load(std::memory_order_relaxed) >= one_reader_; }

  /// Called by the only thread of the child of a fork: the waiters are gone, and so is the writer,
  /// unless it `is_held`.
  void forget_waiters(bool is_held) {
    const std::uint32_t readers = word_.load(std::memory_order_relaxed) / one_reader_;
    word_.store(readers != 0 ? readers * one_reader_
                : is_held    ? written_
                             : 0,
                std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t parked_ = 1;
  static constexpr std::uint32_t drains_ = 2;
  static constexpr std::uint32_t written_ = 4;
  static constexpr std::uint32_t one_reader_ = 8;
  // Of which an unlock can add as many as there are sleepers.
  static constexpr std::uint32_t most_ = ~std::uint32_t{0} / one_reader_ / 2;
  /// Bits of which one is set where as many readers as half of most_ are inside.
  static constexpr std::uint32_t many_ = ~(most_ / 2 * one_reader_ | (one_reader_ - 1));

  static bool is_open(std::uint32_t word, bool passes) {
    return (word & written_) == 0 || (passes && word >= one_reader_);
  }

  const void* next_address() const { return reinterpret_cast<const unsigned char*>(this) + 1; }

  [[gnu::noinline]] admission wait_and_read(bool passes, std::uint64_t deadline) {
    std::uint64_t polls = 0;
    for (;;) {
      const admission outcome = try_lock_read(passes);
      if (outcome != admission::refused) {
        return outcome;
      }
      const wakeup end = wait(false, deadline, polls);
      if (end == wakeup::handed_over) {
        return admission::inside;
      }
      if (end == wakeup::too_late) {
        return admission::refused;
      }
    }
  }

  /// True once inside, false after the deadline.
  [[gnu::noinline]] bool wait_and_write(std::uint64_t deadline) {
    std::uint64_t polls = 0;
    while (!take_written()) {
      const wakeup end = wait(true, deadline, polls);
      if (end == wakeup::handed_over) {
        break;
      }
      if (end == wakeup::too_late) {
        return false;
      }
    }
    return drain(deadline);
  }

  /// Sets `written` beside readers, unless it is set. Relaxed: drain() acquires.
  bool take_written() {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    while ((seen & written_) == 0) {
      if (word_.compare_exchange_weak(seen, seen | written_, std::memory_order_relaxed,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// Polls once, or sleeps until unparked, while the lock is written.
  wakeup wait(bool writes, std::uint64_t deadline, std::uint64_t& polls) {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    if ((seen & written_) == 0) {
      return wakeup::none;
    }
    if ((seen & parked_) == 0) {
      if (polls < Env::template value<spins>()) {
        poll(++polls);
        return wakeup::none;
      }
      // Relaxed: the thread that acts on it reads it again with the bucket locked.
      if (!word_.compare_exchange_strong(seen, seen | parked_, std::memory_order_relaxed,
                                         std::memory_order_relaxed)) {
        return wakeup::none;
      }
    }
    polls = 0;
    return table::shared().park_until(this, writes, deadline, [this] {
      constexpr std::uint32_t both = written_ | parked_;
      return (word_.load(std::memory_order_relaxed) & both) == both;
    });
  }

  /// For the thread that has set `written`: waits for the readers inside. After the deadline it
  /// takes `written` back, and returns false.
  bool drain(std::uint64_t deadline) {
    std::uint64_t polls = 0;
    // Acquire, here and below, pairs with the release of each reader that leaves.
    std::uint32_t seen = word_.load(std::memory_order_acquire);
    while (seen >= one_reader_) {
      if (polls < Env::template value<spins>()) {
        poll(++polls);
      } else if ((seen & drains_) != 0 ||
                 word_.compare_exchange_strong(seen, seen | drains_, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
        const wakeup end = table::shared().park_until(next_address(), true, deadline, [this] {
          return word_.load(std::memory_order_relaxed) >= one_reader_;
        });
        if (end == wakeup::too_late) {
          clear_and_wake(false);
          return false;
        }
      }
      seen = word_.load(std::memory_order_acquire);
    }
    if ((seen & drains_) != 0) {
      // Relaxed: it is a mark of this thread, for readers that have left.
      word_.fetch_and(~drains_, std::memory_order_relaxed);
    }
    return true;
  }

  static void poll(std::uint64_t number) {
    constexpr std::uint64_t pausing = 3;
    if (number > pausing) {
      Env::yield();
      return;
    }
    for (std::uint32_t i = 0; i < 1u << number; ++i) {
      Env::relax();
    }
  }

  /// Clears `written`, and wakes sleepers or hands over to them. Without sleepers, the lock may be
  /// destroyed once the word is stored.
  [[gnu::noinline]] void clear_and_wake(bool writers_first) {
    table::shared().unpark_group(
        this, writers_first, Env::template value<fair>(), [this](const auto& found) {
          const std::uint32_t handed =
              found.fair ? found.readers * one_reader_ + (found.writers != 0 ? written_ : 0) : 0;
          const std::uint32_t rest = handed | (found.others ? parked_ : 0);
          std::uint32_t seen = word_.load(std::memory_order_relaxed);
          std::uint32_t then = 0;
          do {
            then = (seen & ~(parked_ | drains_ | written_)) + rest;
            // Release: this section is over.
          } while (!word_.compare_exchange_weak(seen, then, std::memory_order_release,
                                                std::memory_order_relaxed));
          return found.fair;
        });
  }

  typename Env::template atomic<std::uint32_t> word_{};
};

}  // namespace lockwright
