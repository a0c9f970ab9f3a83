// big-reader: readers count themselves in the counter of their thread while no writer comes, and
// otherwise in a phase-fair lock, through which writers go.
//
// Citation: W. Hsieh and W. Weihl, "Scalable Reader-Writer Locks for Parallel Systems", IPPS 1992;
// Linux's brlock (I. Molnar and D. Miller, 2.4, 2000) and percpu-rwsem (M. Patocka, 2012), from
// which the second, central count is.
//
//   word   | meaning                                            | written by
//   inner  | readers that came when writers were about, and     | see phase_fair
//          | writers                                            |
//   parts  | all of the below, made when a writer comes or a    | see lazy_part
//          | reader finds another one inside                    |
//   front  | whether readers may use the counters; writers      | see reader_front
//   slots  | readers, counted by thread number                  | see reader_slots
//
// The lock's states and invariants are those of reader_front, over phase_fair. Without memory for
// the parts, it is phase_fair.
//
// Unlike in brlock, a writer leaves the counters closed: each reader in the inner lock
// opens them with the probability of one in as many as there are counters. So what the next writer's
// closing costs, a look at each, was spent by readers in the inner lock before.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lockwright/parts/lazy_part.hpp"
#include "lockwright/parts/reader_front.hpp"
#include "lockwright/parts/reader_slots.hpp"
#include "lockwright/rwlock.hpp"
#include "lockwright/rwlock/phase_fair.hpp"
#include "lockwright/rwlock_uses.hpp"

namespace lockwright {

template <class Env>
class big_reader {
  using inner_lock = phase_fair<Env>;
  using slots = reader_slots<Env>;

  class alignas(64) parts {
   public:
    static std::size_t bytes() { return sizeof(parts) + slots::count() * slot_bytes_; }

    void begin() { count_ = slots::count(); }

    reader_front<Env, inner_lock, slots> over(inner_lock& inner) {
      return {word_, inner, {reinterpret_cast<typename slots::slot*>(this + 1), count_}};
    }

    [[nodiscard]] std::uint32_t count() const { return count_; }

   private:
    static constexpr std::size_t slot_bytes_ = sizeof(typename slots::slot);

    front_word<Env> word_;
    typename Env::template plain<std::uint32_t> count_;
  };

 public:
  static constexpr rwlock_traits traits{
      .preference = preference::alternating,
      .waiting = waiting::spin_then_park,
      .distributed_readers = true,
      .suits = "almost only readers, on many processors",
      .patents =
          "US 8,504,540 (a tree of readers' counters); 6,823,511 (counters by group, expired)",
      .reference = "Hsieh and Weihl, IPPS 1992; Linux's brlock, 2000",
      .summary =
          "Readers count themselves by thread, each in its own cache line, until a writer comes; "
          "then readers and writers alternate as in phase-fair. Reads scale with the processors; "
          "a write after reads looks at every counter."};
  static constexpr rwlock_uses uses{
      .cases = {{rwlock_use_case::mostly_read, 1, "readers write different cache lines"}}};

  static constexpr auto tunables = inner_lock::tunables;

  static std::uint64_t bytes_outside() { return lazy_part<Env, parts>::bytes(); }

  /// No deadline.
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  /// True if the caller is inside as a reader. False where lock_read() has more to do.
  [[gnu::always_inline]] bool lock_read_at_once() {
    if (parts* all = parts_.made()) [[likely]] {
      return all->over(inner_).register_reader();
    }
    return !inner_.is_read() && inner_.try_lock_read(false) == admission::inside;
  }

  admission lock_read(bool passes, std::uint64_t deadline = never) {
    if (lock_read_at_once()) [[likely]] {
      return admission::inside;
    }
    parts* all = parts_.made();
    if (all == nullptr && inner_.is_read() && !passes) {
      all = made_parts();
    }
    return open_by_chance(all, inner_.lock_read(passes, deadline));
  }

  admission try_lock_read(bool passes) {
    parts* all = parts_.made();
    if (all != nullptr && all->over(inner_).register_reader()) {
      return admission::inside;
    }
    return open_by_chance(all, inner_.try_lock_read(passes));
  }

  [[gnu::always_inline]] void unlock_read() {
    if (parts* all = parts_.made()) [[likely]] {
      all->over(inner_).unlock_read();
    } else if (inner_.is_read()) {
      inner_.unlock_read();
    }
  }

  arrival lock_write() {
    if (parts* all = made_parts()) [[likely]] {
      all->over(inner_).begin_write();
    }
    return inner_.lock_write();
  }

  bool try_lock_write() {
    parts* all = made_parts();
    if (all == nullptr) {
      return inner_.try_lock_write();
    }
    auto front = all->over(inner_);
    return !front.has_readers() && front.write([this] { return inner_.try_lock_write(); });
  }

  bool try_lock_write_until(std::uint64_t deadline) {
    parts* all = made_parts();
    return all != nullptr
               ? all->over(inner_).write([&] { return inner_.try_lock_write_until(deadline); })
               : inner_.try_lock_write_until(deadline);
  }

  /// `writers_first`: a waiting writer comes before the waiting readers.
  void unlock_write(bool writers_first = false) {
    if (parts* all = parts_.made()) [[likely]] {
      all->over(inner_).end_write();
    }
    inner_.unlock_write(writers_first);
  }

  /// For a holder: true if it is a writer.
  bool is_written() const { return inner_.is_written(); }

  /// True if any thread reads.
  bool is_read() const {
    parts* all = parts_.made();
    return all != nullptr ? all->over(const_cast<inner_lock&>(inner_)).is_read() : inner_.is_read();
  }

  /// Called by the only thread of the child of a fork: the waiters are gone, and so is the writer,
  /// unless it `is_held`.
  void forget_waiters(bool is_held) {
    if (parts* all = parts_.made()) {
      all->over(inner_).forget_waiters(is_held);
    } else {
      inner_.forget_waiters(is_held);
    }
  }

 private:
  parts* made_parts() {
    return parts_.get([](parts& all) { all.begin(); });
  }

  admission open_by_chance(parts* all, admission outcome) {
    if (all != nullptr && outcome == admission::inside) {
      auto front = all->over(inner_);
      if (front.is_closed() && Env::chance(all->count())) {
        front.open();
      }
    }
    return outcome;
  }

  inner_lock inner_;
  lazy_part<Env, parts> parts_;
};

}  // namespace lockwright
