// A reader-writer lock in which phases of readers and writers alternate: a writer waits
// for the readers that are inside when its phase begins, and for no others; a
// reader that has to wait waits for one writer.
//
// Citation: B. Brandenburg and J. Anderson, "Spin-Based Reader-Writer Synchronization for
// Multiprocessor Real-Time Systems", Real-Time Systems 46, 2010 (phase-fair locks).
//
//   bits of the word | meaning                                    | changed by
//   0     written    | a writer is inside, or waits for the       | writers
//         |          | readers inside to leave                    |
//   1     next       | the front writer is to come after          | that writer; the
//         |          | the one that has `written`                 | one before it
//   2     phase      | changes when waiting readers are admitted  | writers
//   3     asleep     | readers may sleep on the low half          | readers; cleared
//         |          |                                            | by writers
//   4-31  inside     | readers inside                             | readers; writers,
//         |          |                                            | that admit them
//   32-63 behind     | readers that wait for the phase to change, | the same
//         |          | or for `written` to be taken back          |
//
//   front | meaning                                               | written by
//   0     | the front writer polls                                | that writer
//   1     | it sleeps or is about to                              | that writer
//   2     | it is inside                                          | the admitting thread
//
//   writers: a lock; its holder is the front writer, until it is inside, see three_state.hpp
//
// The front writer takes `written`, if that is free, and waits for the readers
// inside; else it sets `next`, and is given `written` by the writer that leaves.
// That writer admits all waiting readers in the same step, so the phases alternate:
//
//   writer inside --> all readers that waited --> the next writer --> ...
//
// Invariants
//   EXCLUSION  a writer is inside only while `written` is set and no thread is
//              counted as inside; no reader that finds `written` enters, except
//              one that passes, which enters beside another reader.
//   TURN       a waiting reader is admitted by the next writer that leaves, and counted, so
//              the phase does not change again before it has been inside, however late it notices.
//   ONE-GRANT  the step on the word that leaves the front writer alone, with `written` set and no
//              thread inside, is made once, and its thread grants. A writer that gives up
//              withdraws its mark in one step, which succeeds only before that.
//   NO-LOST-WAKE  a reader sleeps only on a low half with `written`, `asleep` and
//              its own phase; the thread that changes the phase, or takes `written` back,
//              clears `asleep` in the same step and wakes all.
//   NO-TOUCH   after its step on the word a thread that leaves does not access the lock again,
//              unless a writer waits for it to; so the next holder may destroy the lock.
//
// Unlike in the published lock, waiters sleep and can give up, and a thread that reads already
// may pass a waiting writer, as otherwise it would wait for itself. Writers behind the front
// writer are admitted in no fixed order. A writer that finds no thread acquires the lock at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>

#include "lockwright/parts/reader_entry.hpp"
#include "lockwright/parts/three_state.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/rwlock.hpp"
#include "lockwright/rwlock_uses.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class phase_fair {
 public:
  static constexpr rwlock_traits traits{
      .preference = preference::alternating,
      .waiting = waiting::spin_then_park,
      .suits = "readers and writers that both must not wait long",
      .reference = "Brandenburg and Anderson, Real-Time Systems 46, 2010",
      .summary =
          "Phases of readers and writers alternate, so that a reader waits for one writer "
          "at most. Waiters poll for a while and then sleep."};
  static constexpr rwlock_uses uses{.cases = {{rwlock_use_case::starved_writers, 1,
                                               "a writer waits for one phase of readers only"}},
                                    .reader_path = reader_path::inlined};
  static constexpr tunable_list<1> tunables{&spin_bound};
  /// No deadline.
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  /// `passes`: the caller may read already, and does not wait behind a writer
  /// that waits for readers. `deadline` is in units of Env::now().
  admission lock_read(bool passes, std::uint64_t deadline = never) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (is_open(seen, passes)) {
        if (inside(seen) == most_) [[unlikely]] {
          return admission::too_many;
        }
        if (enter(seen)) {
          return admission::inside;
        }
      } else if (word_.compare_exchange_weak(seen, seen + one_behind_, std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
        return await_phase(seen & phase_, deadline) ? admission::inside : admission::refused;
      }
    }
  }

  [[gnu::always_inline]] admission try_lock_read(bool passes) {
    return enter_as_reader(word_, one_inside_, written_ | many_,
                           [passes](std::uint64_t seen) __attribute__((always_inline)) {
                             return !is_open(seen, passes)  ? admission::refused
                                    : inside(seen) == most_ ? admission::too_many
                                                            : admission::inside;
                           });
  }

  [[gnu::always_inline]] void unlock_read() {
    // Release: this section is over. Acquire: the last one to leave lets a writer
    // in, after all readers' sections, and after that writer's store to front_.
    const std::uint64_t before = word_.fetch_sub(one_inside_, std::memory_order_acq_rel);
    if ((before & written_) != 0 && inside(before) == 1) [[unlikely]] {
      grant();
    }
  }

  arrival lock_write() {
    if (try_lock_write()) {
      return arrival::uncontended;
    }
    writers_.lock();
    if (!announce()) {
      await_turn(never);
    }
    writers_.unlock();
    return arrival::contended;
  }

  bool try_lock_write() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    // Acquire pairs with the releases in both unlocks.
    return (seen & written_) == 0 && inside(seen) == 0 &&
           word_.compare_exchange_strong(seen, seen | written_, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  bool try_lock_write_until(std::uint64_t deadline) {
    if (try_lock_write()) {
      return true;
    }
    if (!writers_.try_lock_until(deadline)) {
      return false;
    }
    const bool taken = announce() || await_turn(deadline) || !withdraw();
    writers_.unlock();
    return taken;
  }

  /// `writers_first`: a waiting writer comes before the waiting readers.
  void unlock_write(bool writers_first = false) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    std::uint64_t then = 0;
    do {
      if ((seen & next_) == 0) {
        then = next_phase(seen);
      } else {
        then = writers_first ? seen & ~next_ : next_phase(seen) | written_;
      }
      // Release: this section is over. Acquire: the next writer's store to front_.
    } while (!word_.compare_exchange_weak(seen, then, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    wake_if_asleep(seen, then);
    if ((then & written_) != 0 && inside(then) == 0) {
      grant();
    }
  }

  /// For a holder: true if it is a writer.
  bool is_written() const {
    const std::uint64_t seen = word_.load(std::memory_order_relaxed);
    return (seen & written_) != 0 && inside(seen) == 0;
  }

  /// True if any thread reads.
  bool is_read() const { return inside(word_.load(std::memory_order_relaxed)) != 0; }

  /// Called by the only thread of the child of a fork: the waiters are gone, and so is the writer,
  /// unless it `is_held`.
  void forget_waiters(bool is_held) {
    const std::uint64_t seen = word_.load(std::memory_order_relaxed);
    word_.store(inside(seen) != 0 ? inside(seen) * one_inside_
                : is_held         ? written_
                                  : 0,
                std::memory_order_relaxed);
    front_.store(polls_, std::memory_order_relaxed);
    ::new (&writers_) three_state<Env>;
  }

 private:
  static constexpr std::uint64_t written_ = 1;
  static constexpr std::uint64_t next_ = 2;
  static constexpr std::uint64_t phase_ = 4;
  static constexpr std::uint64_t asleep_ = 8;
  static constexpr std::uint64_t one_inside_ = 16;
  static constexpr std::uint64_t one_behind_ = std::uint64_t{1} << 32;
  static constexpr std::uint64_t most_ = one_behind_ / one_inside_ - 1;
  /// The bit that is set where more readers than half of most_ are inside.
  static constexpr std::uint64_t many_ = (most_ / 2 + 1) * one_inside_;

  static constexpr std::uint32_t polls_ = 0;
  static constexpr std::uint32_t sleeps_ = 1;
  static constexpr std::uint32_t granted_ = 2;

  static std::uint64_t inside(std::uint64_t word) { return word / one_inside_ & most_; }

  static bool is_open(std::uint64_t word, bool passes) {
    return (word & written_) == 0 || (passes && inside(word) != 0);
  }

  /// The word once the writer inside has left and all waiting readers are admitted.
  static std::uint64_t next_phase(std::uint64_t word) {
    return (~word & phase_) | word / one_behind_ * one_inside_;
  }

  [[gnu::always_inline]] bool enter(std::uint64_t& seen) {
    // Acquire pairs with the release in unlock_write().
    return word_.compare_exchange_weak(seen, seen + one_inside_, std::memory_order_acquire,
                                       std::memory_order_relaxed);
  }

  static std::uint64_t earlier(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

  /// For a reader that is counted as behind: true once it is counted as inside,
  /// false if it has given up.
  [[gnu::noinline]] bool await_phase(std::uint64_t mine, std::uint64_t deadline) {
    std::uint64_t seen = 0;
    // Acquire pairs with the release in unlock_write().
    const auto look = [this, mine, &seen] {
      seen = word_.load(std::memory_order_acquire);
      return (seen & phase_) != mine || (seen & written_) == 0;
    };
    const std::uint64_t spun = Env::now() + Env::template value<spin_bound>();
    poll_until<Env>(earlier(spun, deadline), look);
    while ((seen & phase_) == mine) {
      if ((seen & written_) == 0) {
        // Relaxed: no thread was a writer inside since the look.
        if (word_.compare_exchange_weak(seen, seen - one_behind_ + one_inside_,
                                        std::memory_order_relaxed, std::memory_order_relaxed)) {
          return true;
        }
      } else if (deadline != never && Env::now() >= deadline) {
        if (word_.compare_exchange_weak(seen, seen - one_behind_, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
          return false;
        }
      } else if ((seen & asleep_) != 0 ||
                 word_.compare_exchange_weak(seen, seen | asleep_, std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
        const auto low = static_cast<std::uint32_t>(seen | asleep_);
        if (deadline == never) {
          Env::wait_low(word_, low);
        } else {
          Env::wait_low_until(word_, low, deadline);
        }
      }
      look();
    }
    return true;
  }

  /// The lock may be destroyed already: only the word's address is used.
  void wake_if_asleep(std::uint64_t before, std::uint64_t now) {
    if ((before & asleep_) != 0 && (now & asleep_) == 0) {
      Env::wake_low(word_, ~std::uint32_t{0});
    }
  }

  /// Called by the front writer. Returns true if it is inside at once.
  bool announce() {
    front_.store(polls_, std::memory_order_relaxed);
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const bool first = (seen & written_) == 0;
      // Release publishes front_ to the granting thread. Acquire is for a caller that is inside at
      // once.
      if (word_.compare_exchange_weak(seen, seen | (first ? written_ : next_),
                                      std::memory_order_acq_rel, std::memory_order_relaxed)) {
        return first && inside(seen) == 0;
      }
    }
  }

  /// The caller has announced itself. True once it is inside, false after the deadline.
  [[gnu::noinline]] bool await_turn(std::uint64_t deadline) {
    // Acquire, in all of these, pairs with the release in grant().
    const auto comes = [this] { return front_.load(std::memory_order_acquire) == granted_; };
    const std::uint64_t spun = Env::now() + Env::template value<spin_bound>();
    if (poll_until<Env>(earlier(spun, deadline), comes)) {
      return true;
    }
    std::uint32_t seen = polls_;
    if (!front_.compare_exchange_strong(seen, sleeps_, std::memory_order_relaxed,
                                        std::memory_order_acquire) &&
        seen == granted_) {
      return true;
    }
    do {
      if (deadline == never) {
        Env::wait(front_, sleeps_);
      } else if (Env::now() < deadline) {
        Env::wait_until(front_, sleeps_, deadline);
      } else {
        return comes();
      }
    } while (!comes());
    return true;
  }

  /// The caller has announced itself and waits no longer. False if it is inside after all.
  [[gnu::noinline]] bool withdraw() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      if ((seen & next_) == 0 && inside(seen) == 0) {
        await_turn(never);
        return false;
      }
      const std::uint64_t mark = (seen & next_) != 0 ? next_ : written_ | asleep_;
      const std::uint64_t then = seen & ~mark;
      if (word_.compare_exchange_weak(seen, then, std::memory_order_relaxed,
                                      std::memory_order_relaxed)) {
        wake_if_asleep(seen, then);
        return true;
      }
    }
  }

  /// Admits the front writer. Release: after everything that this thread
  /// has done, or has acquired from others that left.
  void grant() {
    if (front_.exchange(granted_, std::memory_order_release) == sleeps_) {
      Env::wake(front_, 1);
    }
  }

  typename Env::template atomic<std::uint64_t> word_{};
  typename Env::template atomic<std::uint32_t> front_{};
  three_state<Env> writers_{};
};

}  // namespace lockwright
