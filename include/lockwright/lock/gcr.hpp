// gcr: a wrapper that lets only a few threads at a time contend for the lock inside it. The
// others are passive: they queue, mostly asleep, and the first of them becomes active when
// the lock has few contenders, or after a number of acquisitions.
//
// Citation: D. Dice, A. Kogan, "Avoiding Scalability Collapse by Restricting
// Concurrency", Euro-Par 2019.
// The lock inside is a parameter: gcr-ttas polls in it, gcr-mcs-stp polls and parks.
//
//   word    | meaning                                     | written by
//   parts   | all of the below, made at the first use     | see outside
//   inner   | the lock itself                             | active threads
//   entered | how many threads have become active, less   | threads that become active, or leave
//           | those that left inner at a deadline         | at a deadline
//   left    | how many of them have unlocked              | the holder
//   since   | acquisitions since the last promotion       | the holder
//   gate    | the word on which the first passive thread  | see below
//           | waits                                       |
//   passive | the queue of passive threads, a lock of its | passive threads
//           | own: its holder is the first in the queue   |
//
//   gate    | meaning                                       | changed by
//   shut    | the first passive thread polls, if there is one | that thread -> napping
//   napping | it sleeps, for a bounded time each            | the holder -> open
//   open    | it may become active                          | that thread -> shut, from
//           |                                               | any, when it leaves
//
// The paper counts in one word with atomic additions, and describes as an improvement two counts,
// of which the holder changes one without an atomic operation; these are used here. In the
// paper the first passive thread polls without bound, at growing intervals; here it sleeps
// through the longer ones. It also becomes active after waiting for `patience`: the
// published promotion counts acquisitions, which takes long if sections are slow.
//
// Invariants
//   EXCLUSION  is inner's; nothing else here excludes any thread for good.
//   RESTRICTED a thread becomes active only while fewer than `active` are, but for one more per
//              promotion, for threads that read the counts at the same moment, and for one whose
//              deadline comes at the gate.
//   NO-LOST-THREAD  the thread that waits at the gate leaves it after `patience` at the
//              latest, so the words around it need no order.
//   LAST-INNER the unlock of inner is the last access of unlock() to the lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/lock/mcs.hpp"
#include "lockwright/parts/outside.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env, class Inner>
class gcr {
  using word = typename Env::template atomic<std::uint32_t>;

  struct alignas(64) state {
    Inner inner;
    word entered;
    word left;
    typename Env::template plain<std::uint32_t> since;
    word gate;
    mcs<Env, spin_then_park> passive;

    static std::size_t bytes() { return sizeof(state); }

    // Signed: a thread may have come and gone between the two loads.
    [[nodiscard]] std::int32_t active() const {
      const std::uint32_t gone = left.load(std::memory_order_relaxed);
      return static_cast<std::int32_t>(entered.load(std::memory_order_relaxed) - gone);
    }
  };

 public:
  static constexpr lock_traits traits{
      .category = category::load_control,
      .waiting = Inner::traits.waiting,
      .realtime = own_order_unless_polling(Inner::traits.waiting),
      .node_bytes = 64 + Inner::traits.node_bytes,  // one among the passive, one inside
      .low_traffic = true,
      .survives_oversubscription = !Inner::traits.parks(),
      .suits =
          Inner::traits.parks()
              ? suit_list{{{use_case::crowded, 5, "keeps all but a few waiters asleep"}}}
              : suit_list{{{use_case::crowded, 18, "keeps all but a few waiters asleep"},
                           {use_case::memory_contention, 6, "keeps few threads in circulation"}}},
      .patents = "US 10,565,024 (generic concurrency restriction)",
      .reference = "Dice and Kogan, Euro-Par 2019",
      .summary =
          Inner::traits.parks()
              ? "Lets a few threads contend for the lock inside it, an MCS queue that parks, and "
                "keeps the others asleep in a queue of their own. Throughput stays when threads "
                "outnumber cores; unfair over short times."
              : "Lets a few threads contend for the lock inside it, a test-and-test-and-set, and "
                "keeps the others asleep in a queue. Throughput stays when threads outnumber "
                "cores; unfair over short times."};

  static constexpr tunable active{
      .name = "active",
      .default_value = 2,
      .counted_in = unit::count,
      .min = 1,
      .max = 1u << 20,
      .model_value = 1,
      .meaning =
          "an arriving thread becomes active while fewer than n are; the first passive one, while "
          "at most (n - 1) / 2 are",
      .source = "the published algorithm; 1 and 4 keep less of the throughput on 2 processors"};
  static constexpr tunable promotion{
      .name = "promotion",
      .default_value = 0x4000,
      .counted_in = unit::count,
      .min = 1,
      .max = 1u << 31,
      .model_value = 2,
      .meaning = "after how many acquisitions the first passive thread becomes active",
      .source = "the published algorithm"};
  static constexpr tunable patience{
      .name = "patience-ns",
      .default_value = 5'000'000,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = std::uint64_t{1} << 50,
      .model_value = 2'000,
      .meaning = "the longest time that the first passive thread waits to become active",
      .source = "about as long as `promotion` short sections take"};
  static constexpr tunable nap{.name = "nap-ns",
                               .default_value = 1'000'000,
                               .counted_in = unit::nanoseconds,
                               .min = 0,
                               .max = std::uint64_t{1} << 50,
                               .model_value = 0,
                               .meaning =
                                   "the longest time that the first passive thread sleeps before "
                                   "it counts the active ones again",
                               .source = "the published interval of polling, a million turns"};
  static constexpr auto tunables =
      join(tunable_list<4>{&active, &promotion, &patience, &nap}, spin_then_park<Env>::tunables);

  using part = state;

  arrival lock(state& parts) {
    if (parts.active() < max_active()) [[likely]] {
      parts.entered.fetch_add(1, std::memory_order_relaxed);
      return parts.inner.lock();
    }
    wait_in_queue(parts, never_);
    parts.inner.lock();
    return arrival::contended;
  }

  bool try_lock_until(state& parts, std::uint64_t deadline)
    requires TimedLock<Inner>
  {
    if (parts.active() < max_active()) {
      parts.entered.fetch_add(1, std::memory_order_relaxed);
    } else if (!wait_in_queue(parts, deadline)) {
      return false;
    }
    if (parts.inner.try_lock_until(deadline)) {
      return true;
    }
    parts.entered.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }

  bool try_lock(state& parts) {
    if (!parts.inner.try_lock()) {
      return false;
    }
    parts.entered.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  void unlock(state& parts) {
    bool wake = false;
    parts.since = parts.since + 1;
    if (parts.since >= Env::template value<promotion>()) {
      parts.since = 0;
      wake = !parts.passive.is_free() &&
             parts.gate.exchange(open_, std::memory_order_relaxed) == napping_;
    }
    parts.left.store(parts.left.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    word& gate = parts.gate;
    parts.inner.unlock();
    if (wake) [[unlikely]] {
      Env::wake(gate, 1);  // only the address counts
    }
  }

 private:
  static constexpr std::uint32_t shut_ = 0;
  static constexpr std::uint32_t napping_ = 1;
  static constexpr std::uint32_t open_ = 2;

  static std::int32_t max_active() {
    return static_cast<std::int32_t>(Env::template value<active>());
  }

  static constexpr std::uint64_t never_ = ~std::uint64_t{0};

  /// False if the deadline came in the queue. A thread at the gate becomes active then.
  [[gnu::noinline]] static bool wait_in_queue(state& parts, std::uint64_t deadline) {
    if (deadline == never_) {
      parts.passive.lock();
    } else if (!parts.passive.try_lock_until(deadline)) {
      return false;
    }
    wait_at_gate(parts, deadline);
    parts.entered.fetch_add(1, std::memory_order_relaxed);
    parts.passive.unlock();
    return true;
  }

  static void wait_at_gate(state& parts, std::uint64_t deadline) {
    const std::int32_t few = (max_active() - 1) / 2;
    const std::uint64_t longest = Env::template value<nap>();
    const std::uint64_t begin = Env::now();
    const std::uint64_t sleep_from = begin + Env::template value<spin_bound>();
    const std::uint64_t patient = begin + Env::template value<patience>();
    const std::uint64_t leave = patient < deadline ? patient : deadline;
    std::uint64_t polls = 1;
    std::uint64_t sleep = longest / 16;
    // Reading the counts takes their cache line from the active threads, so the interval doubles.
    while (parts.gate.load(std::memory_order_relaxed) != open_) {
      if (parts.active() <= few) {
        break;
      }
      const std::uint64_t now = Env::now();
      if (now >= leave) {
        break;
      }
      if (now < sleep_from) {
        poll(parts.gate, polls);
        polls *= 2;
      } else {
        sleep_until(parts.gate, now + sleep < leave ? now + sleep : leave);
        sleep = 2 * sleep < longest ? 2 * sleep : longest;
      }
    }
    parts.gate.store(shut_, std::memory_order_relaxed);
  }

  static void poll(word& gate, std::uint64_t times) {
    for (std::uint64_t i = 0; i < times && gate.load(std::memory_order_relaxed) != open_; ++i) {
      Env::relax();
    }
  }

  static void sleep_until(word& gate, std::uint64_t deadline) {
    std::uint32_t seen = shut_;
    // It may be napping already, from the last time.
    if (gate.compare_exchange_strong(seen, napping_, std::memory_order_relaxed,
                                     std::memory_order_relaxed) ||
        seen == napping_) {
      Env::wait_until(gate, napping_, deadline);
    }
  }
};

}  // namespace lockwright
