// BRAVO: a layer over any reader-writer lock. Readers register in a table of the process, in an
// entry that the lock and the thread determine, while the lock is biased to readers; a writer takes
// the bias away.
//
// Citation: D. Dice and A. Kogan, "BRAVO - Biased Locking for Reader-Writer Locks", USENIX ATC 2019.
//
//   word   | meaning                                             | written by
//   inner  | the lock below                                      | see there
//   bias   | whether readers may use the table; writers          | see reader_front
//   until  | the time before which the bias is not set again, in | the writer that takes
//          | units of 2^14 ns; 0 for none                        | it away
//
//   entry of the table | meaning
//   null               | free
//   address of a lock  | a thread reads under that lock
//
// The states and invariants are those of reader_front. Also:
//   ONE-ENTRY  a thread has one entry for a lock. If that is in use, by the thread itself or
//              another one, it reads in the inner lock.
//   REPAID     the bias is not set again for `inhibition` times as long as its withdrawal took.
//
// The published writer takes the inner lock first and then waits for each reader in the table.
// Here it first moves them into the inner lock, so that it waits in one place, can give up, and
// lets a thread that reads already read again. A lock that is destroyed or overwritten while a
// thread reads leaves its entry behind, forever.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/parts/reader_front.hpp"
#include "lockwright/rwlock.hpp"
#include "lockwright/rwlock/futex_rw.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// The number of entries that are used.
inline constexpr tunable bravo_entries{
    .name = "entries",
    .default_value = 4096,
    .counted_in = unit::count,
    .min = 1,
    .max = 4096,
    .model_value = 2,
    .meaning = "how many entries of the table of readers are used",
    .source = "its authors' (ATC 2019)"};

/// The table of the process.
template <class Env>
struct bravo_table {
  using entry = typename Env::template atomic<void*>;

  /// The readers of a process remain those of its forked child.
  static constexpr bool survives_fork = true;

  /// As many entries as can be used; fewer in the model, where there are few threads.
  static constexpr std::size_t size =
      bravo_entries.max < Env::max_self / 64 ? bravo_entries.max : Env::max_self / 64;

  entry entries[size];
};

/// The entries of one lock, as the indicator of reader_front.
template <class Env>
class bravo_readers {
  using entry = typename bravo_table<Env>::entry;

 public:
  explicit bravo_readers(void* lock)
      : lock_(lock), entries_(Env::template common<bravo_table<Env>>().entries) {}

  [[gnu::always_inline]] bool enter() {
    entry& own = mine();
    void* seen = own.load(std::memory_order_relaxed);
    return seen == nullptr && own.compare_exchange_strong(seen, lock_, std::memory_order_seq_cst,
                                                          std::memory_order_relaxed);
  }

  bool leave() { return leave(mine()); }

  bool leave_any() {
    for (std::uint32_t i = 0; i < count(); ++i) {
      if (leave(entries_[i])) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool is_entered() const { return mine().load(std::memory_order_relaxed) == lock_; }

  [[nodiscard]] bool is_empty() const {
    for (std::uint32_t i = 0; i < count(); ++i) {
      if (entries_[i].load(std::memory_order_relaxed) == lock_) {
        return false;
      }
    }
    return true;
  }

  template <class Add, class Undo>
  void empty(Add add, Undo undo) {
    for (std::uint32_t i = 0; i < count(); ++i) {
      void* seen = entries_[i].load(std::memory_order_seq_cst);
      if (seen != lock_) {
        continue;
      }
      add();
      // Acquire, also on failure: a reader that has left. Release: the caller's add().
      if (!entries_[i].compare_exchange_strong(seen, nullptr, std::memory_order_acq_rel,
                                               std::memory_order_acquire)) {
        undo();
      }
    }
  }

 private:
  static std::uint32_t count() {
    return static_cast<std::uint32_t>(Env::template value<bravo_entries>());
  }

  [[nodiscard, gnu::always_inline]] entry& mine() const {
    // Fibonacci hashing of both (Knuth, TAOCP 6.4): 2^64 divided by the golden ratio.
    const std::uint64_t both = reinterpret_cast<std::uintptr_t>(lock_) / 8 +
                               (static_cast<std::uint64_t>(Env::self()) << 32);
    const std::uint64_t mixed = (both ^ both >> 29) * 0x9e37'79b9'7f4a'7c15u;
    return entries_[(mixed >> 32) * count() >> 32];
  }

  bool leave(entry& from) {
    // Acquire: if it is not the caller's, the thread that moved the caller's unit.
    void* seen = from.load(std::memory_order_acquire);
    // Release: this section is over.
    return seen == lock_ && from.compare_exchange_strong(seen, nullptr, std::memory_order_release,
                                                         std::memory_order_acquire);
  }

  void* lock_;
  entry* entries_;
};

template <class Env, class Inner>
class bravo {
  using front = reader_front<Env, Inner, bravo_readers<Env>>;

 public:
  static constexpr rwlock_traits traits{
      .preference = Inner::traits.preference,
      .waiting = Inner::traits.waiting,
      .distributed_readers = true,
      .numa_aware = Inner::traits.numa_aware,
      .node_bytes = Inner::traits.node_bytes,
      .suits = "many locks, each almost only read",
      .patents = "US 11,972,777 (reader bias)",
      .reference = "Dice and Kogan, USENIX ATC 2019",
      .summary =
          "Readers register in a table that all locks of the process share, until a writer takes "
          "this right away for a while; otherwise the lock below decides. Reads scale with the "
          "processors, for eight bytes in each lock; a write after reads searches the table."};

  static constexpr tunable inhibition{
      .name = "inhibition",
      .default_value = 9,
      .counted_in = unit::count,
      .min = 0,
      .max = 1'000'000,
      .model_value = 0,
      .meaning = "for how many times the duration of a withdrawal the bias is not set again",
      .source = "its authors' N, which bounds a writer's slowdown by 10 % (ATC 2019)"};
  static constexpr auto tunables =
      join(Inner::tunables, tunable_list<2>{&bravo_entries, &inhibition});

  /// The size of the table that all locks of the process share.
  static constexpr std::size_t common_bytes = sizeof(bravo_table<Env>);

  /// No deadline.
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  /// True if the caller is inside as a reader. False where lock_read() has more to do.
  [[gnu::always_inline]] bool lock_read_at_once() { return over().register_reader(); }

  admission lock_read(bool passes, std::uint64_t deadline = never) {
    if (lock_read_at_once()) [[likely]] {
      return admission::inside;
    }
    return set_bias(inner_.lock_read(passes, deadline));
  }

  admission try_lock_read(bool passes) {
    return over().register_reader() ? admission::inside : set_bias(inner_.try_lock_read(passes));
  }

  [[gnu::always_inline]] void unlock_read() { over().unlock_read(); }

  arrival lock_write() {
    withdraw_bias();
    return inner_.lock_write();
  }

  bool try_lock_write() {
    return !over().has_readers() && write([this] { return inner_.try_lock_write(); });
  }

  bool try_lock_write_until(std::uint64_t deadline) {
    return write([&] { return inner_.try_lock_write_until(deadline); });
  }

  void unlock_write(bool writers_first = false) {
    over().end_write();
    inner_.unlock_write(writers_first);
  }

  /// For a holder: true if it is a writer.
  bool is_written() const { return inner_.is_written(); }

  /// True if any thread reads.
  bool is_read() const { return const_cast<bravo*>(this)->over().is_read(); }

  /// Called by the only thread of the child of a fork: the waiters are gone, and so is the writer,
  /// unless it `is_held`.
  void forget_waiters(bool is_held) { over().forget_waiters(is_held); }

 private:
  front over() { return {bias_, inner_, bravo_readers<Env>{this}}; }

  /// Never 0.
  static std::uint32_t coarse(std::uint64_t ns) { return static_cast<std::uint32_t>(ns >> 14) | 1; }

  void withdraw_bias() {
    // The clock is read only where there is a bias to withdraw.
    const std::uint64_t begin = over().is_closed() ? 0 : Env::now();
    if (over().begin_write() && begin != 0) {
      const std::uint64_t end = Env::now();
      // Relaxed, here and below: when the bias is set again is only a matter of speed.
      until_.store(coarse(end + (end - begin) * Env::template value<inhibition>()),
                   std::memory_order_relaxed);
    }
  }

  template <class Take>
  bool write(Take take) {
    withdraw_bias();
    const bool taken = take();
    if (!taken) {
      over().end_write();
    }
    return taken;
  }

  admission set_bias(admission outcome) {
    if (outcome == admission::inside && over().is_closed() && Env::advice(is_due())) {
      over().open();
    }
    return outcome;
  }

  bool is_due() const {
    const std::uint32_t until = until_.load(std::memory_order_relaxed);
    // The difference is right for half the range, nine hours, beyond which it may delay the bias.
    return until == 0 || static_cast<std::int32_t>(coarse(Env::now()) - until) >= 0;
  }

  Inner inner_;
  front_word<Env> bias_{};
  typename Env::template atomic<std::uint32_t> until_{};
};

}  // namespace lockwright
