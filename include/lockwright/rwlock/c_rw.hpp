// c-rw: reader-writer locks for machines with several NUMA nodes: a cohort lock among the writers,
// and readers that count themselves apart from each other.
//
// Citation: I. Calciu, D. Dice, Y. Lev, V. Luchangco, V. J. Marathe, N. Shavit, "NUMA-Aware
// Reader-Writer Locks", PPoPP 2013. The preference is a parameter:
//
//   c-rw-np  neutral: a reader that finds a writer inside, or next to enter, takes the cohort lock
//            to enter, as a writer does
//   c-rw-rp  readers: a reader enters unless a writer is inside; a writer that has waited for
//            `patience-ns` raises a barrier, which holds back new readers
//   c-rw-wp  writers: a reader enters when there are no writers, or once it has waited for
//            `patience-ns`: then the next writer that leaves admits it
//
//   word    | meaning                                            | written by
//   inner   | writers, and readers that came when writers were   | see phase_fair
//           | about                                              |
//   parts   | all of the below, made at the first use            | see lazy_part
//   front   | whether readers may use the counters; writers      | see reader_front
//   slots   | readers, counted by thread number                  | see reader_slots
//   barrier | writers that have run out of patience              | those writers
//   cohort  | the cohort lock, C-BO-MCS with parking             | see cohort
//
// The states and invariants of admission are those of reader_front, over phase_fair. Also:
//   COHORT     each writer inside the inner lock has taken the cohort lock, and released it just
//              before it leaves the inner lock, which it does last: then the lock may be destroyed.
//
// The published readers count themselves by NUMA node, and writers wait for each counter; here
// readers count themselves by thread number, and the first writer moves them into the inner
// lock, where waiters sleep and can give up. The published reader of c-rw-np takes the cohort lock
// even if only waiting writers are about, and would wait for the wake of each waiter before it.
// Without memory for the parts, the lock is phase_fair.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lockwright/lock/c_bo_mcs.hpp"
#include "lockwright/parts/lazy_part.hpp"
#include "lockwright/parts/reader_front.hpp"
#include "lockwright/parts/reader_slots.hpp"
#include "lockwright/rwlock.hpp"
#include "lockwright/rwlock/phase_fair.hpp"
#include "lockwright/rwlock_uses.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

inline constexpr tunable c_rw_patience{
    .name = "patience-ns",
    .default_value = 1'000'000'000,
    .counted_in = unit::nanoseconds,
    .min = 0,
    .max = std::uint64_t{1} << 50,
    .model_value = 500,
    .meaning = "how long a thread waits behind the preferred kind before that is held back",
    .source = "a wait that a user notices; its authors give no number (PPoPP 2013)"};

/// Kind: preference::none, readers or writers.
template <class Env, preference Kind>
class c_rw {
  using inner_lock = phase_fair<Env>;
  using slots = reader_slots<Env>;
  using cohort_lock = c_bo_mcs<Env, spin_then_park>;
  using cohort_part = typename cohort_lock::part;

  class alignas(64) parts {
   public:
    static std::size_t bytes() { return cohort_offset(slots::count()) + cohort_part::bytes(); }

    void begin() { count_ = slots::count(); }

    reader_front<Env, inner_lock, slots> over(inner_lock& inner) {
      return {word_, inner, {reinterpret_cast<typename slots::slot*>(this + 1), count_}};
    }

    cohort_part& cohort() {
      return *reinterpret_cast<cohort_part*>(reinterpret_cast<unsigned char*>(this) +
                                             cohort_offset(count_));
    }

    typename Env::template atomic<std::uint32_t> barrier;

   private:
    static std::size_t cohort_offset(std::uint32_t count) {
      return sizeof(parts) + count * sizeof(typename slots::slot);
    }

    front_word<Env> word_;
    typename Env::template plain<std::uint32_t> count_;
  };

 public:
  static constexpr rwlock_traits traits{
      .preference = Kind,
      .waiting = waiting::spin_then_park,
      .distributed_readers = true,
      .numa_aware = true,
      .node_bytes = cohort_lock::traits.node_bytes,
      .suits = Kind == preference::none      ? "several NUMA nodes, readers and writers alike"
               : Kind == preference::readers ? "several NUMA nodes, mostly readers"
                                             : "several NUMA nodes, rare but urgent writers",
      .patents =
          "US 8,694,706 (cohort locks); 9,996,402; 11,762,711; 12,099,885 (reader-writer "
          "cohorts)",
      .reference = "Calciu et al., PPoPP 2013",
      .summary =
          Kind == preference::none
              ? "A cohort lock among writers, which a reader takes too, but only to enter; readers "
                "count themselves by thread. Made for several NUMA nodes; neutral between readers "
                "and writers."
          : Kind == preference::readers
              ? "A cohort lock among writers; readers count themselves by thread, and enter unless "
                "a writer is inside. Made for several NUMA nodes; writers may wait long."
              : "A cohort lock among writers; readers count themselves by thread, and enter when "
                "no writer waits. Made for several NUMA nodes; readers may wait long."};
  static constexpr rwlock_uses uses =
      Kind == preference::writers ? rwlock_uses{.cases = {{rwlock_use_case::mostly_read, 2,
                                                           "readers write a cache line of their "
                                                           "NUMA node, and writers come first"}}}
                                  : rwlock_uses{};

  static constexpr auto tunables = join(cohort_lock::tunables, tunable_list<1>{&c_rw_patience});

  /// For the model checker: the preference ends when a thread has waited for long.
  static constexpr bool has_patience = true;

  static std::uint64_t bytes_outside() { return lazy_part<Env, parts>::bytes(); }

  /// No deadline.
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  /// True if the caller is inside as a reader. False where lock_read() has more to do.
  [[gnu::always_inline]] bool lock_read_at_once() {
    parts* all = parts_.made();
    return all != nullptr && all->over(inner_).register_reader();
  }

  admission lock_read(bool passes, std::uint64_t deadline = never) {
    if (lock_read_at_once()) [[likely]] {
      return admission::inside;
    }
    parts* all = made_parts();
    if (all == nullptr) [[unlikely]] {
      return inner_.lock_read(passes, deadline);
    }
    return open(*all, wait_and_read(*all, passes, deadline));
  }

  admission try_lock_read(bool passes) {
    parts* all = made_parts();
    if (all == nullptr) [[unlikely]] {
      return inner_.try_lock_read(passes);
    }
    return all->over(inner_).register_reader()
               ? admission::inside
               : open(*all, inner_.try_lock_read(passes || is_reader_first(*all)));
  }

  [[gnu::always_inline]] void unlock_read() {
    if (parts* all = parts_.held()) [[likely]] {
      all->over(inner_).unlock_read();
    } else if (inner_.is_read()) {
      inner_.unlock_read();
    }
  }

  arrival lock_write() {
    parts* all = made_parts();
    if (all == nullptr) [[unlikely]] {
      return inner_.lock_write();
    }
    all->over(inner_).begin_write();
    const arrival found = cohort_.lock(all->cohort());
    if (Kind != preference::readers) {
      return inner_.lock_write() == arrival::contended ? arrival::contended : found;
    }
    if (inner_.try_lock_write()) {
      return found;
    }
    if (!inner_.try_lock_write_until(Env::now() + Env::template value<c_rw_patience>())) {
      // Relaxed: it only holds readers back.
      all->barrier.fetch_add(1, std::memory_order_relaxed);
      inner_.lock_write();
      all->barrier.fetch_sub(1, std::memory_order_relaxed);
    }
    return arrival::contended;
  }

  bool try_lock_write() {
    parts* all = made_parts();
    if (all == nullptr) [[unlikely]] {
      return inner_.try_lock_write();
    }
    auto front = all->over(inner_);
    return !front.has_readers() && !inner_.is_read() && front.write([&] {
      return cohort_.try_lock(all->cohort()) && keep_cohort(*all, inner_.try_lock_write());
    });
  }

  bool try_lock_write_until(std::uint64_t deadline) {
    parts* all = made_parts();
    if (all == nullptr) [[unlikely]] {
      return inner_.try_lock_write_until(deadline);
    }
    return all->over(inner_).write([&] {
      return lock_cohort(*all, deadline) &&
             keep_cohort(*all, inner_.try_lock_write_until(deadline));
    });
  }

  /// `writers_first`: a waiting writer comes before the waiting readers.
  void unlock_write(bool writers_first = false) {
    if (parts* all = parts_.held()) [[likely]] {
      cohort_.unlock(all->cohort());
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
    parts* all = parts_.made();
    if (all == nullptr) {
      inner_.forget_waiters(is_held);
      return;
    }
    all->over(inner_).forget_waiters(is_held);
    all->barrier.store(0, std::memory_order_relaxed);
    std::memset(static_cast<void*>(&all->cohort()), 0, cohort_part::bytes());
    if (is_held) {
      cohort_.try_lock(all->cohort());
    }
  }

 private:
  parts* made_parts() {
    return parts_.get([](parts& all) { all.begin(); });
  }

  admission open(parts& all, admission outcome) {
    if (outcome == admission::inside) {
      all.over(inner_).open();
    }
    return outcome;
  }

  /// Relaxed, as where the barrier is raised.
  static bool is_reader_first(const parts& all) {
    return Kind == preference::readers && all.barrier.load(std::memory_order_relaxed) == 0;
  }

  [[gnu::noinline]] admission wait_and_read(parts& all, bool passes, std::uint64_t deadline) {
    if (passes || is_reader_first(all)) {
      return inner_.lock_read(true, deadline);
    }
    if (Kind == preference::writers) {
      const std::uint64_t patient = Env::now() + Env::template value<c_rw_patience>();
      all.over(inner_).await_no_writers(Env::template value<spin_bound>(),
                                        patient < deadline ? patient : deadline);
      return inner_.lock_read(false, deadline);
    }
    if (Kind == preference::readers) {
      return inner_.lock_read(false, deadline);
    }
    if (const admission found = inner_.try_lock_read(false); found != admission::refused) {
      return found;
    }
    if (!lock_cohort(all, deadline)) {
      return admission::refused;
    }
    const admission outcome = inner_.lock_read(false, deadline);
    cohort_.unlock(all.cohort());
    return outcome;
  }

  /// Releases the cohort lock if `taken` is false. Returns `taken`.
  bool keep_cohort(parts& all, bool taken) {
    if (!taken) {
      cohort_.unlock(all.cohort());
    }
    return taken;
  }

  [[gnu::noinline]] bool lock_cohort(parts& all, std::uint64_t deadline) {
    if (deadline == never) {
      cohort_.lock(all.cohort());
      return true;
    }
    return cohort_.try_lock_until(all.cohort(), deadline);
  }

  inner_lock inner_;
  lazy_part<Env, parts> parts_;
  [[no_unique_address]] cohort_lock cohort_;
};

}  // namespace lockwright
