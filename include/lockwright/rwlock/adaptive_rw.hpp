// adaptive-rw: one word that threads enter whenever it lets them, past those that wait, until one has
// waited too long; waiters poll, and then the first sleeps at the word, the others in an adaptive
// mutex. Readers that would only contend for the word register in a table instead, until writers come
// too often; the longer one has to wait for the table then, the later this may begin again. Where
// threads enter more often than the word's line could change its processor, those that do not enter at
// once stand aside.
//
// Citation: none for the whole. Readers in a table: D. Dice and A. Kogan, "BRAVO - Biased Locking for
// Reader-Writer Locks", USENIX ATC 2019. One waiter at the word, the others behind a mutex:
// S. Kashyap, I. Calciu, X. Cheng, C. Min, T. Kim, "Scalable and Practical Locking with Shuffling",
// SOSP 2019, and Linux's qrwlock (W. Long, 2014).
//
//   bits of the word | meaning                                        | changed by
//   written  (0)     | a writer is inside                             | that writer
//   reserved (1)     | a waiter has waited too long or for the table, | that waiter
//                    | and no other thread enters                     |
//   asleep   (2)     | a thread sleeps on the word, or is about to    | that thread; the thread that
//                    |                                                | wakes all of them
//   spread   (3)     | readers may register in the table, while it    | a reader; a writer
//                    | is neither reserved nor written                |
//   paused   (4)     | a reservation that does not keep readers out   | its writer
//                    | for a while                                    |
//   crowded  (5)     | to stand aside pays: advice                    | one that has done so
//   readers  (6-31)  | readers inside that are not in the table       | readers
//
//   advice: when `spread` may be set, and how often threads come; see adaptive_rw/advice.hpp
//   queue: a mutex whose holder waits at the word. Threads that have a deadline, or that read
//   already, wait at the word without it.
//
//   one word, a reader after others -> spread
//   spread, a writer, reserved, once no reader is in the table -> one word, or, by advice, spread and
//   written, and then spread
//
// Invariants
//   EXCLUSION  `written` is set only in a step from a word without it, without readers, and without
//              `spread` or by the thread that has reserved it and EMPTIED the table; a reader is added
//              or stays registered, and `spread` set, only where it is not set.
//   OWNER      only the thread that has set `reserved` clears it, or replaces it by `paused` and
//              that by it.
//   UNITS      each reader inside is one unit, a registration or one of `readers`. Units are
//              interchangeable: a reader leaves by removing any of them. None is ever moved, so
//              the child of a fork has none twice. As in the C library it keeps those of threads
//              that it does not have, even of one between the two looks below.
//   BOTH-LOOK  a reader registers and then reads the word; a writer sets `reserved` and then reads the
//              table. All four are sequentially consistent, so at least one notices the other:
//              the reader withdraws, or the writer waits for it.
//   EMPTIED    `spread` is cleared, or a writer enters beside it, after each row has once had no reader
//              since `reserved` was set. A registration made since then is withdrawn, or removed by a
//              reader that is inside otherwise, whose unit then belongs to the one that has
//              registered. So then, and without `spread`, all units are in `readers`.
//   NO-LOST-WAKE  a thread sleeps on a word with `asleep` and with what keeps it out; the step that
//              ends this clears `asleep`, and its thread wakes all.
//   NO-TOUCH   a thread that leaves uses only the word's address after the step by which it leaves.
//   BOUNDED    a thread at the word reserves it after `reserve-ns`, a `first` one at once, if no
//              other one has; the mutex bounds the time until it comes there. A thread that reads
//              already waits for no reservation.
//   NO-CIRCLE  a reservation keeps readers out for no longer than `closed-ns` at a time, and writers
//              then wait without the mutex: a reader inside may wait for a thread that wants to
//              read. Where readers stay inside for so long the bound above does not hold. Not so for
//              a writer that comes `first`, by the kind that allows no recursive reads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "lockwright/lock/adaptive.hpp"
#include "lockwright/parts/growing_delay.hpp"
#include "lockwright/parts/reader_table.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/rwlock.hpp"
#include "lockwright/rwlock/adaptive_rw/advice.hpp"
#include "lockwright/rwlock_uses.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class adaptive_rw {
  using queue_lock = adaptive<Env>;
  using table = reader_table<Env>;
  using advice = adaptive_rw_advice<Env>;

 public:
  static constexpr rwlock_traits traits{
      .preference = preference::none,
      .waiting = waiting::spin_then_park,
      .distributed_readers = true,
      .numa_aware = true,
      .node_bytes = queue_lock::traits.node_bytes,
      .suits = "loads that are not known",
      .patents = "US 11,972,777 (reader bias), 7,747,805, and those near adaptive",
      .reference = "barging, and readers in a table while that pays; see the header",
      .summary =
          "One word while readers are alone or mixed with writers, a table of readers while "
          "writers are rare. Waiters poll, sleep and let others pass, with a bound in time."};
  static constexpr rwlock_uses uses{.reader_path = reader_path::first};

  static constexpr tunable reserve{
      .name = "reserve-ns",
      .default_value = 10'000'000,
      .counted_in = unit::nanoseconds,
      .max = std::uint64_t{1} << 40,
      .model_value = 2'000,
      .meaning = "how long a thread that waits at the word lets others pass",
      .source =
          "a few time slices of the kernel's scheduler: a reservation keeps the others out until "
          "its thread has a processor"};
  static constexpr tunable closed{
      .name = "closed-ns",
      .default_value = 100'000'000,
      .counted_in = unit::nanoseconds,
      .max = std::uint64_t{1} << 40,
      .model_value = 2'000,
      .meaning =
          "how long a writer that waits for readers keeps others out before it lets some pass",
      .source = "ten times reserve-ns, so that writers are kept out for a tenth of the time"};
  static constexpr auto tunables = join(tunable_list<6>{&spin_bound, &reserve, &advice::inhibition,
                                                        &closed, &advice::aside, &advice::crowded},
                                        queue_lock::tunables);

  /// The size of the table that all locks of the process share.
  static constexpr std::size_t common_bytes = table::bytes;

  /// No deadline.
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  /// True if the caller is inside as a reader. False where lock_read() has more to do.
  [[gnu::always_inline]] bool lock_read_at_once() {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    // Acquire, here and wherever a thread enters, pairs with the releases of all that leave.
    return (seen & (written_ | reserved_ | spread_ | many_)) == 0 && advice_.counts_attempt() &&
           word_.compare_exchange_strong(seen, seen + one_reader_, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  /// The same for the table: the short way where lock_read_at_once() fails for `spread`.
  [[gnu::always_inline]] bool lock_read_in_table() {
    return admits_to_table(word_.load(std::memory_order_relaxed)) && register_reader();
  }

  admission lock_read(bool passes, std::uint64_t deadline = never) {
    if (lock_read_at_once()) {
      return admission::inside;
    }
    if (deadline == never) {
      stand_aside();
    }
    const admission outcome = enter_read(passes);
    return outcome == admission::refused ? wait({.passes = passes, .deadline = deadline}) : outcome;
  }

  admission try_lock_read(bool passes) {
    return lock_read_at_once() ? admission::inside : enter_read(passes);
  }

  void unlock_read() {
    const std::uint32_t seen = look();
    if (!is_left_at_once(seen) || !is_left_by_reader(seen) || !leave_read_at_once(seen))
        [[unlikely]] {
      leave_read_slowly();
    }
  }

  /// The short forms of unlock_read() and unlock_write(), for a word of look() with
  /// is_left_at_once(), which for a holder tells whether it reads. False: nothing is done.
  [[nodiscard]] std::uint32_t look() const { return word_.load(std::memory_order_relaxed); }
  static bool is_left_at_once(std::uint32_t seen) { return (seen & (spread_ | asleep_)) == 0; }
  static bool is_left_by_reader(std::uint32_t seen) { return (seen & readers_) != 0; }
  [[gnu::always_inline]] bool leave_read_at_once(std::uint32_t seen) {
    // Release, here and wherever a thread leaves: its section is over.
    return word_.compare_exchange_strong(seen, seen - one_reader_, std::memory_order_release,
                                         std::memory_order_relaxed);
  }
  [[gnu::always_inline]] bool leave_write_at_once(std::uint32_t seen) {
    return word_.compare_exchange_strong(seen, seen & ~written_, std::memory_order_release,
                                         std::memory_order_relaxed);
  }

  /// The rest of unlock_read(). Does nothing where no thread reads.
  [[gnu::always_inline]] void leave_read_slowly() {
    if ((look() & spread_) == 0 || !table{this}.leave(table::here())) {
      leave_word_or_table();
    }
  }

  /// first: readers that come while this writer waits enter after it; no reader inside may wait for
  /// them.
  arrival lock_write(bool first = false) {
    if (try_lock_write()) {
      return arrival::uncontended;
    }
    stand_aside();
    wait({.writes = true, .first = first});
    return arrival::contended;
  }

  /// True if the caller is inside as a writer. False where lock_write() has more to do.
  [[gnu::always_inline]] bool lock_write_at_once() {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    return (seen & (written_ | reserved_ | spread_ | readers_)) == 0 && advice_.counts_attempt() &&
           word_.compare_exchange_strong(seen, seen | written_, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  bool try_lock_write() { return lock_write_at_once() || try_to_write_after_spread(); }

  bool try_lock_write_until(std::uint64_t deadline, bool first = false) {
    return try_lock_write() ||
           wait({.writes = true, .first = first, .deadline = deadline}) == admission::inside;
  }

  /// The waiters that are awake come next, whichever they are.
  void unlock_write(bool = false) {
    const std::uint32_t seen = look();
    if (!is_left_at_once(seen) || !leave_write_at_once(seen)) [[unlikely]] {
      leave_write_slowly();
    }
  }

  /// The rest of unlock_write().
  [[gnu::noinline]] void leave_write_slowly() {
    if ((word_.fetch_and(~(written_ | asleep_), std::memory_order_release) & asleep_) != 0) {
      wake_all();
    }
  }

  /// For a holder: true if it is a writer.
  bool is_written() const { return (word_.load(std::memory_order_relaxed) & written_) != 0; }

  /// True if any thread reads.
  bool is_read() const {
    const std::uint32_t seen = word_.load(std::memory_order_relaxed);
    return (seen & readers_) != 0 || ((seen & spread_) != 0 && !table{this}.is_empty());
  }

  /// Called by the only thread of the child of a fork: the waiters are gone, and so is the writer,
  /// unless it `is_held`.
  void forget_waiters(bool is_held) {
    const std::uint32_t seen = word_.load(std::memory_order_relaxed);
    word_.store((seen & (readers_ | spread_)) | (is_held ? written_ : 0),
                std::memory_order_relaxed);
    ::new (&queue_) queue_lock;
  }

 private:
  // In the model each pause, and each step, multiplies the executions.
  static constexpr bool is_modelled_ = Env::max_self < 4096;

  static constexpr std::uint32_t written_ = 1;
  static constexpr std::uint32_t reserved_ = 2;
  static constexpr std::uint32_t asleep_ = 4;
  static constexpr std::uint32_t spread_ = 8;
  /// A reservation that lets readers pass.
  static constexpr std::uint32_t paused_ = 16;
  static constexpr std::uint32_t crowded_ = 32;
  static constexpr std::uint32_t one_reader_ = 64;
  static constexpr std::uint32_t readers_ = ~(one_reader_ - 1);
  /// The bit that is set where more readers than half of the most are inside.
  static constexpr std::uint32_t many_ = std::uint32_t{1} << 31;

  /// A thread that wants to enter.
  struct visitor {
    bool writes = false;
    bool passes = false;
    bool first = false;     // see lock_write()
    bool queued = false;    // it holds the mutex
    bool reserves = false;  // it has set `reserved`, which may be `paused` now
    bool emptied = false;   // a writer that leaves `spread`: see EMPTIED
    std::uint64_t deadline = never;
    std::uint64_t turn_ends = never;  // when `reserved` is to become `paused`, or the reverse
    std::uint32_t pauses_left = is_modelled_ ? 1 : ~std::uint32_t{0};
  };

  static bool admits_to_table(std::uint32_t word) {
    return (word & (written_ | reserved_ | spread_)) == spread_;
  }

  static bool is_open(std::uint32_t word, const visitor& me) {
    return (word & written_) == 0 && ((word & reserved_) == 0 || me.reserves || me.passes) &&
           (!me.writes || (word & (me.emptied ? readers_ : readers_ | spread_)) == 0);
  }

  /// Readers may be in the table, for whom a writer has to reserve the lock.
  static bool may_hide_readers(std::uint32_t word) {
    return (word & (written_ | spread_)) == spread_;
  }

  [[gnu::noinline]] void leave_word_or_table() {
    // There is a unit, but others may take those that the caller is about to find. Not for ever: the
    // caller may be none of the readers.
    for (std::uint32_t rounds = 0; rounds < 64; ++rounds) {
      std::uint32_t seen = word_.load(std::memory_order_relaxed);
      const bool is_spread = (seen & spread_) != 0;
      if (is_spread && table{this}.leave(table::here())) {
        return;
      }
      while ((seen & readers_) != 0) {
        const bool wakes = (seen & asleep_) != 0 && (seen & readers_) == one_reader_;
        if (word_.compare_exchange_weak(seen, seen - one_reader_ - (wakes ? asleep_ : 0),
                                        std::memory_order_release, std::memory_order_relaxed)) {
          if (wakes) {
            wake_all();
          }
          return;
        }
      }
      // The caller, or the one whose unit it has, has moved here from another processor.
      if (!is_spread || table{this}.leave_any()) {
        return;
      }
    }
  }

  /// The word after a pause, so that many threads do not fail again and again while a few have its line.
  std::uint32_t after(growing_delay& pauses) {
    for (std::uint32_t left = pauses.next(); left != 0; --left) {
      Env::relax();
    }
    return word_.load(std::memory_order_relaxed);
  }

  void wake_all() { Env::wake(word_, ~std::uint32_t{0}); }

  /// Enters if the lock is open, which `seen`, the word as seen last, decides first.
  admission enter(std::uint32_t& seen, const visitor& me) {
    growing_delay pauses{1, longest_pause_};
    while (is_open(seen, me)) {
      std::uint32_t then = seen | written_;
      if (!me.writes) {
        if (admits_to_table(seen) && register_reader()) {
          return admission::inside;
        }
        if ((seen & readers_) == readers_) {
          return admission::too_many;
        }
        // Not past a thread that sleeps until there are no readers: it would sleep too long.
        const bool spreads = (seen & (reserved_ | paused_ | asleep_ | spread_)) == 0 &&
                             Env::advice(advice_.may_spread());
        then = seen + one_reader_ + (spreads ? spread_ : 0);
      }
      if (me.reserves) {
        // Threads that only the reservation keeps out may enter beside a reader.
        then &= ~(me.writes ? reserved_ | paused_ : reserved_ | asleep_);
      }
      if (word_.compare_exchange_weak(seen, then, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        if ((then & ~seen & spread_) != 0) {
          advice_.begins_to_spread();
        }
        if ((seen & ~then & asleep_) != 0) {
          wake_all();
        }
        return admission::inside;
      }
      seen = after(pauses);
    }
    return admission::refused;
  }

  /// For a thread that does not enter at once: leaves the word's line to the others for a while where
  /// these enter at a rate that they would not reach beside it. Elsewhere it only looks, now and then,
  /// whether that is so.
  [[gnu::noinline]] void stand_aside() {
    const std::uint32_t before = look();
    // Those in the table are not counted.
    if ((before & spread_) != 0 || !advice::watches((before & crowded_) != 0)) {
      return;
    }
    const std::uint64_t begin = Env::now();
    const bool pays = advice_.finds_high_rate(begin);
    const std::uint32_t word = look();
    if (pays != ((word & crowded_) != 0) && (word & spread_) == 0) {
      if (pays) {
        word_.fetch_or(crowded_, std::memory_order_relaxed);
      } else {
        word_.fetch_and(~crowded_, std::memory_order_relaxed);
      }
    }
    if (pays) {
      advice::stays_away(begin);
    }
  }

  /// For a reader that the word has refused, or that has met another thread there.
  [[gnu::noinline]] admission enter_read(bool passes) {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    return enter(seen, {.passes = passes});
  }

  /// True if the caller is inside.
  [[gnu::always_inline]] bool register_reader() {
    const std::uint32_t row = table::here();
    return table{this}.enter(row) &&
           (admits_to_table(word_.load(std::memory_order_seq_cst)) || !withdraw(row));
  }

  /// If the registration is gone, another reader has left by it: that one's unit is the caller's.
  [[gnu::noinline]] bool withdraw(std::uint32_t row) { return table{this}.leave(row); }

  [[gnu::noinline]] bool try_to_write_after_spread() {
    const std::uint32_t seen = word_.load(std::memory_order_relaxed);
    return (seen & (written_ | reserved_ | spread_ | readers_)) == spread_ &&
           table{this}.is_empty() &&
           wait_at_word({.writes = true, .deadline = 0}) == admission::inside;
  }

  /// Enters, or returns admission::refused after the deadline.
  [[gnu::noinline]] admission wait(const visitor& me) {
    // Before it may sleep behind a thread that does.
    admission outcome = poll(me);
    if (outcome != admission::refused) {
      return outcome;
    }
    if (me.deadline != never || me.passes) {
      return wait_at_word(me);
    }
    queue_.lock();
    return wait_at_word({.writes = me.writes, .first = me.first, .queued = true});
  }

  static bool polls_in_vain(std::uint32_t word, const visitor& me) {
    return (!me.reserves && (word & reserved_) != 0) || (me.writes && may_hide_readers(word));
  }

  /// Enters, or returns admission::refused after the spin bound or the deadline, or once the caller
  /// has to reserve the lock, or another thread has.
  admission poll(const visitor& me) {
    // Rare looks leave the word's line to the threads that use the lock.
    growing_delay pauses{1, longest_pause_};
    if (polls_in_vain(look(), me)) {
      return admission::refused;
    }
    const std::uint64_t begin = Env::now();
    const std::uint64_t spun = begin + Env::template value<spin_bound>();
    const std::uint64_t end = spun < me.deadline ? spun : me.deadline;
    while (Env::now() < end) {
      std::uint32_t seen = after(pauses);
      if (const admission outcome = enter(seen, me); outcome != admission::refused) {
        return outcome;
      }
      if (polls_in_vain(seen, me)) {
        break;
      }
    }
    return admission::refused;
  }

  /// Unlocks the mutex if the caller holds it.
  admission wait_at_word(visitor me) {
    const std::uint64_t aged = Env::now() + (me.first ? 0 : Env::template value<reserve>());
    admission outcome = poll(me);
    while (outcome == admission::refused) {
      const std::uint64_t now = Env::now();
      std::uint32_t seen = word_.load(std::memory_order_relaxed);
      outcome = enter(seen, me);
      if (outcome != admission::refused) {
        break;
      }
      if (me.writes && (seen & paused_) != 0) {
        // The pause is for readers, and some may be behind this writer.
        leave_queue(me);
      }
      const bool is_spread = me.writes && may_hide_readers(seen);
      const bool may_reserve = !me.passes && (seen & (reserved_ | paused_)) == 0;
      if (!me.reserves && may_reserve && (now >= aged || is_spread)) {
        me.reserves = close(seen, now, me);
      } else if (me.reserves && is_spread && (seen & reserved_) != 0 &&
                 empties_table(me.deadline < me.turn_ends ? me.deadline : me.turn_ends, now, me)) {
        continue;
      } else if (now >= me.deadline) {
        break;
      } else if (now >= me.turn_ends) {
        take_turns(seen, now, me);
      } else {
        const bool ages = now < aged && !me.reserves && !me.passes;
        const std::uint64_t until = ages ? aged : me.turn_ends;
        sleep(seen, until < me.deadline ? until : me.deadline);
        outcome = poll(me);
      }
    }
    if (outcome != admission::inside) {
      give_up(me);
    }
    leave_queue(me);
    return outcome;
  }

  /// Reserves the lock, or does so again: `seen`, the word, is without `reserved`. Sequentially
  /// consistent: see BOTH-LOOK.
  bool close(std::uint32_t seen, std::uint64_t now, visitor& me) {
    if (!word_.compare_exchange_strong(seen, (seen & ~paused_) | reserved_,
                                       std::memory_order_seq_cst, std::memory_order_relaxed)) {
      return false;
    }
    // Only a writer waits for readers.
    const bool pauses = me.writes && !me.first && me.pauses_left != 0;
    me.turn_ends = pauses ? now + Env::template value<closed>() : never;
    return true;
  }

  /// For the writer that has reserved the lock, at the end of a turn: keeps readers out, or lets them
  /// pass for as long as if it had not waited yet.
  void take_turns(std::uint32_t seen, std::uint64_t now, visitor& me) {
    if ((seen & paused_) != 0) {
      close(seen, now, me);
    } else if ((seen & written_) != 0) {
      me.turn_ends = now + Env::template value<closed>();
    } else if (word_.compare_exchange_strong(seen, (seen & ~(reserved_ | asleep_)) | paused_,
                                             std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
      --me.pauses_left;
      me.turn_ends = now + Env::template value<reserve>();
      if ((seen & asleep_) != 0) {
        wake_all();
      }
    }
  }

  void leave_queue(visitor& me) {
    if (me.queued) {
      me.queued = false;
      queue_.unlock();
    }
  }

  /// Sleeps while the word is as `seen`, which keeps the caller out.
  void sleep(std::uint32_t seen, std::uint64_t deadline) {
    if ((seen & asleep_) == 0 &&
        !word_.compare_exchange_strong(seen, seen | asleep_, std::memory_order_relaxed,
                                       std::memory_order_relaxed)) {
      return;
    }
    sleep_on<Env>(word_, seen | asleep_, deadline);
  }

  /// Lets others in again, for a thread that does not enter.
  void give_up(const visitor& me) {
    if (me.reserves &&
        (word_.fetch_and(~(reserved_ | paused_ | asleep_), std::memory_order_relaxed) & asleep_) !=
            0) {
      wake_all();
    }
  }

  /// For a writer that has reserved the lock: returns true once all units are in `readers`, false
  /// after the deadline. The writer enters at once or comes here again.
  bool empties_table(std::uint64_t deadline, std::uint64_t begin, visitor& me) {
    if (!me.emptied && !table{this}.await_empty(deadline)) {
      return false;
    }
    const std::uint64_t end = Env::now();
    me.emptied = !me.emptied && Env::advice(advice_.keeps_spread(begin, end));
    if (!me.emptied) {
      advice_.ends_spread(begin, end, (look() & crowded_) != 0);
      // Relaxed: a thread that finds the table unused has not been there.
      word_.fetch_and(~spread_, std::memory_order_relaxed);
    }
    return true;
  }

  /// Of Env::relax(), which takes 10 to 45 ns: about as long as a few changes of the lock's processor.
  static constexpr std::uint64_t longest_pause_ = 32;

  typename Env::template atomic<std::uint32_t> word_{};
  advice advice_;
  queue_lock queue_;
};

}  // namespace lockwright
