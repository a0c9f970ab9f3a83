// mcs-timepub: an MCS queue whose waiters publish the time. An unlock passes over waiters
// whose time is old, because they are not running; these queue again.
//
// Citation: B. He, W. N. Scherer III, M. L. Scott, "Preemption Adaptivity in
// Time-Published Queue-Based Spin Locks", HiPC 2005 (MCS-TP).
//
//   word    | meaning                                   | written by
//   tail    | last node of the queue, null when free    | arriving threads; the last holder
//   inside  | the holder's record, made at first use:   | see outside
//     node  | its node                                  | the holder, while inside
//     since | the time at which it entered              | the holder, when it enters
//
//   node      | next: the node behind; time: when its owner last published that it runs
//   status    | meaning                              | changed to
//   waiting   | its owner polls, or would if it ran  | available, timed_out, abandoned, failed
//   available | the lock is the owner's              |
//   timed_out | its owner's patience is over, and it | waiting, if it is still in the queue
//             | will return                          | then; failed
//   abandoned | its owner has given up for good      | (failed)
//   failed    | passed over: out of the queue, and   |
//             | the owner's own again                |
//
// In the paper a thread has one node for each lock, and reuses it in a later attempt. Here lock()
// makes attempts until one succeeds, yields in between, and uses one node for all of them: the
// owner of a node that is timed_out is inside lock(). A node is given back by
//   the owner,    after its unlock, or when a try_lock_until() finds it failed;
//   the releaser, when it passes over a node that is abandoned.
//
// Invariants
//   EXCLUSION  the lock belongs to the thread that found the queue empty, or
//              whose status was made available.
//   ONE-CHANGE each way out of a status is a read-modify-write, so owner and
//              releaser agree on whether a node was granted, left or failed.
//   EMPTIED    when the queue is empty, each node that was in it has been granted or
//              failed: a free lock owns no node.
//   TREADMILL  an unlock fails at most scan-limit nodes before it has handed over, so
//              that their owners, which queue again, do not prolong it without bound.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/await_link.hpp"
#include "lockwright/parts/outside.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class mcs_timepub {
  enum : std::uint32_t { waiting_, available_, timed_out_, abandoned_, failed_ };

  struct alignas(64) node {
    typename Env::template atomic<node*> next{};
    typename Env::template atomic<std::uint64_t> time{};
    typename Env::template atomic<std::uint32_t> status{};
  };

  struct alignas(64) holder {
    typename Env::template plain<node*> self;
    typename Env::template atomic<std::uint64_t> since;

    static std::size_t bytes() { return sizeof(holder); }
  };

 public:
  static constexpr lock_traits traits{
      .category = category::load_control,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .hardened_trylock = true,
      .node_bytes = sizeof(node),
      .survives_oversubscription = true,
      .suits = {{{use_case::crowded, 2,
                  "passes over waiters that do not run (TOCS 2019, figure 7)"},
                 {use_case::trylock_loop, 3,
                  "its trylock is hardened, and it passes over waiters that do not run"},
                 {use_case::high_contention, 2,
                  "fastest with all threads on the 64 processors (TOCS 2019)"}}},
      .reference = "He, Scherer and Scott, HiPC 2005",
      .summary =
          "A queue whose waiters publish the time while they poll, so that a release can pass over "
          "those that do not run. Spins, and yet survives over-subscription; heavy when "
          "uncontended."};

  static constexpr tunable patience{.name = "patience-ns",
                                    .default_value = 50'000,
                                    .counted_in = unit::nanoseconds,
                                    .min = 0,
                                    .max = std::uint64_t{1} << 50,
                                    .model_value = 1'000,
                                    .meaning = "how long a waiter polls in one attempt",
                                    .source = "LiTL (Guerraoui et al., TOCS 2019)"};
  static constexpr tunable update_delay{
      .name = "update-delay-ns",
      .default_value = 10'000,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = std::uint64_t{1} << 50,
      .model_value = 1'000,
      .meaning = "the greatest age of a waiter's published time for a handover to it",
      .source = "LiTL (Guerraoui et al., TOCS 2019)"};
  static constexpr tunable longest_section{
      .name = "max-cs-ns",
      .default_value = 10'000'000,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = std::uint64_t{1} << 50,
      .model_value = 1'000,
      .meaning = "the time after which waiters yield if the holder is still inside",
      .source = "LiTL (Guerraoui et al., TOCS 2019)"};
  static constexpr tunable scan_limit{
      .name = "scan-limit",
      .default_value = 1000,
      .counted_in = unit::count,
      .min = 0,
      .max = std::uint64_t{1} << 32,
      .model_value = 1,
      .meaning =
          "the most waiters that a release sends to the end of the queue before it has handed over",
      .source = "LiTL (Guerraoui et al., TOCS 2019)"};
  static constexpr tunable_list<4> tunables{&patience, &update_delay, &longest_section,
                                            &scan_limit};

  using part = holder;

  arrival lock(holder& in) {
    node* me = Env::template take_node<node>();
    arrival found = arrival::uncontended;
    while (enqueue(me)) {
      found = arrival::contended;
      if (wait(in, me)) {
        break;
      }
    }
    enter(in, me);
    return found;
  }

  bool try_lock(holder& in) {
    if (tail_.load(std::memory_order_relaxed) != nullptr) {
      return false;
    }
    node* me = Env::template take_node<node>();
    me->next.store(nullptr, std::memory_order_relaxed);
    node* empty = nullptr;
    // As the exchange in enqueue(). No thread reads the status of the first node.
    if (tail_.compare_exchange_strong(empty, me, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      enter(in, me);
      return true;
    }
    Env::give_node(me);
    return false;
  }

  bool try_lock_until(holder& in, std::uint64_t deadline) {
    node* me = Env::template take_node<node>();
    while (enqueue(me)) {
      const std::uint32_t end = poll(in, me, deadline);
      if (end == available_) {
        break;
      }
      if (end == waiting_) {
        std::uint32_t seen = waiting_;
        // Release: a releaser that passes over the node gives it back. Acquire as in poll().
        if (me->status.compare_exchange_strong(seen, abandoned_, std::memory_order_release,
                                               std::memory_order_acquire)) {
          return false;
        }
        if (seen == available_) {
          break;
        }
      }
      if (Env::now() >= deadline) {
        Env::give_node(me);
        return false;
      }
    }
    enter(in, me);
    return true;
  }

  void unlock(holder& in) {
    node* me = in.self;
    node* first_failed = nullptr;  // the first of those to be failed at the end
    node* end = me;
    std::uint64_t scanned = 0;
    for (;;) {
      // Acquire, here and in await_link(), pairs with the release store in enqueue().
      node* next = end->next.load(std::memory_order_acquire);
      if (next == nullptr) {
        node* last = end;
        // Release pairs with the acquire in enqueue() and try_lock() that finds null.
        if (tail_.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                          std::memory_order_relaxed)) {
          break;
        }
        // With the policy that yields: the thread that is to set the link may be preempted too.
        next = await_link<spin_then_park<Env>>(end->next);
      }
      if (first_failed == nullptr && scanned++ >= Env::template value<scan_limit>()) {
        first_failed = end;
      }
      if (hand_over(next)) {
        break;
      }
      if (first_failed == nullptr && end != me) {
        fail(end);
      }
      end = next;
    }
    // From here on the lock may be gone.
    for (node* failed = first_failed != nullptr ? first_failed : end; failed != nullptr;) {
      node* next = failed == end ? nullptr : failed->next.load(std::memory_order_relaxed);
      if (failed != me) {
        fail(failed);
      }
      failed = next;
    }
    // Not before: another thread could queue with it.
    Env::give_node(me);
  }

 private:
  /// Queues `me`. False if the queue was empty: the lock is the caller's.
  bool enqueue(node* me) {
    me->next.store(nullptr, std::memory_order_relaxed);
    me->status.store(waiting_, std::memory_order_relaxed);
    me->time.store(Env::now(), std::memory_order_relaxed);
    // Release publishes the node; acquire pairs with the release in unlock() that emptied the
    // queue, and with it for the node before.
    node* before = tail_.exchange(me, std::memory_order_acq_rel);
    if (before == nullptr) {
      return false;
    }
    // Release pairs with the acquire loads of next in unlock().
    before->next.store(me, std::memory_order_release);
    return true;
  }

  static void enter(holder& in, node* me) {
    in.self = me;
    in.since.store(Env::now(), std::memory_order_relaxed);
  }

  /// Makes attempts, each as long as the patience. False if passed over.
  [[gnu::noinline]] static bool wait(holder& in, node* me) {
    for (;;) {
      std::uint32_t seen = poll(in, me, Env::now() + Env::template value<patience>());
      // Acquire, if it has been granted or failed meanwhile, as in poll().
      if (seen == waiting_ &&
          me->status.compare_exchange_strong(seen, timed_out_, std::memory_order_relaxed,
                                             std::memory_order_acquire)) {
        Env::yield();
        me->time.store(Env::now(), std::memory_order_relaxed);
        seen = timed_out_;
        // It may still be in the queue.
        if (me->status.compare_exchange_strong(seen, waiting_, std::memory_order_relaxed,
                                               std::memory_order_acquire)) {
          continue;
        }
      }
      return seen == available_;
    }
  }

  /// Publishes the time until granted or failed, or until the deadline.
  static std::uint32_t poll(holder& in, node* me, std::uint64_t deadline) {
    for (;;) {
      // Acquire pairs with the release in hand_over() and in fail().
      const std::uint32_t seen = me->status.load(std::memory_order_acquire);
      if (seen != waiting_) {
        return seen;
      }
      const std::uint64_t now = Env::now();
      me->time.store(now, std::memory_order_relaxed);
      if (now >= deadline) {
        return seen;
      }
      if (now > in.since.load(std::memory_order_relaxed) + Env::template value<longest_section>()) {
        Env::yield();
      } else {
        Env::relax();
      }
    }
  }

  /// Grants the lock to the owner of `next` if that ran not long ago.
  static bool hand_over(node* next) {
    const std::uint64_t seen_at = next->time.load(std::memory_order_relaxed);
    if (Env::now() > seen_at + Env::template value<update_delay>()) {
      return false;
    }
    std::uint32_t seen = waiting_;
    // Release: hands the critical section's writes over.
    return next->status.compare_exchange_strong(seen, available_, std::memory_order_release,
                                                std::memory_order_relaxed);
  }

  /// Fails a node out of the queue: it is its owner's again, or given back.
  static void fail(node* failed) {
    // Release: the owner reuses it. Acquire pairs with the release of the thread that abandoned it.
    if (failed->status.exchange(failed_, std::memory_order_acq_rel) == abandoned_) {
      Env::give_node(failed);
    }
  }

  typename Env::template atomic<node*> tail_{};
};

}  // namespace lockwright
