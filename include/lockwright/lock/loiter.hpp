// loiter: an outer lock that arriving threads race for, and an inner queue for those that did not
// get it soon. Only the first of the queue, the standby, races too, so that few threads circulate.
//
// Citation: D. Dice, "Malthusian Locks", EuroSys 2017 (LOITER).
//
//   word  | meaning
//   outer | 0: free
//         | held_: a thread that took the fast path is inside
//         | node, held_, waits_: the same, and the standby, the owner of the node, waits to
//         |   be woken at the release; with hands_over_, to be given the lock
//         | node, held_, slow_: the owner of the node, the first of the queue,
//         |   is inside
//   inner | last node of the queue, null when it is empty
//
//   node | next: the node behind
//        | cell: granted to this node's owner: first to become the standby, then
//        |   at each release that it waits for
//        | given: the grant hands over the lock
//
// Of the paper's options these are used. Arrivals poll with randomised backoff and give up after a
// number of attempts. The inner lock is MCS with spin-then-park waiting. The standby waits in the
// same way, on its own cell; an unlock that finds it asleep wakes it as heir presumptive, while the
// lock is free for a running thread. The standby takes only a lock that arrivals leave free for a
// moment, so it does not displace them while they keep the lock busy. After a number of releases at
// which others were faster it is handed the lock. The outer word, which the release changes, also
// records a waiting standby, so the release needs no fence before it reads another word.
//
// Invariants
//   EXCLUSION  only the thread that set held_, or was given it, is inside.
//   STANDBY    only the first of the inner queue writes its node into outer.
//   HEIR       when the lock becomes free, a sleeping standby is woken.
//   ONE-INNER  the next thread of the queue becomes the standby when this one leaves the
//              lock: it leaves the queue before it releases the outer lock, which others may
//              then destroy, and grants the next afterwards.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/await_link.hpp"
#include "lockwright/parts/growing_delay.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class loiter {
  struct alignas(64) node {
    typename Env::template atomic<node*> next{};
    typename Env::template plain<bool> given{};
    spin_then_park<Env> cell;
  };

 public:
  static constexpr lock_traits traits{
      .category = category::load_control,
      .waiting = waiting::spin_then_park,
      .realtime = realtime::own_order,
      .light = true,
      .node_bytes = sizeof(node),
      .low_traffic = true,
      .suits = {{{use_case::crowded, 6,
                  "lets threads that run race, and wakes only the first sleeper"}}},
      .patents = "US 11,314,562 and 12,182,636 (concurrency restriction)",
      .reference = "Dice, EuroSys 2017",
      .summary =
          "Threads race for the lock for a moment, then queue; only the first of the queue races "
          "too, and the others sleep. Light, keeps few threads in circulation, and survives "
          "over-subscription."};

  static constexpr tunable attempts{
      .name = "attempts",
      .default_value = 8,
      .counted_in = unit::count,
      .min = 1,
      .max = 1u << 20,
      .model_value = 1,
      .meaning = "how often an arriving thread tries to acquire the lock before it queues",
      .source = "with the delays, about as long as a waiter polls before it sleeps"};
  static constexpr tunable shortest{
      .name = "shortest",
      .default_value = 1u << 6,
      .counted_in = unit::turns,
      .min = 1,
      .max = 1u << 30,
      .model_value = 1,
      .meaning =
          "the longest that the delay before the second attempt can be; it is random, and "
          "the bound doubles from attempt to attempt",
      .source = "about a transfer of a cache line"};
  static constexpr tunable longest{
      .name = "longest",
      .default_value = 1u << 12,
      .counted_in = unit::turns,
      .min = 1,
      .max = 1u << 30,
      .model_value = 1,
      .meaning = "the longest delay between two attempts",
      .source = "with the attempts, about as long as a waiter polls before it sleeps"};
  static constexpr tunable patience{
      .name = "patience",
      .default_value = 1000,
      .counted_in = unit::count,
      .min = 0,
      .max = std::uint64_t{1} << 50,
      .model_value = 1,
      .meaning = "how often others may be faster than the standby before it is handed the lock",
      .source = "as often as the paper's other locks hand over to the oldest waiter"};
  static constexpr tunable courtesy{
      .name = "courtesy",
      .default_value = 512,
      .counted_in = unit::turns,
      .min = 0,
      .max = 1u << 30,
      .model_value = 1,
      .meaning = "how long the standby leaves a free lock to arriving threads",
      .source =
          "longer than a release and the next acquisition by the same thread take, several "
          "transfers of a cache line"};
  static constexpr auto tunables =
      join(tunable_list<5>{&attempts, &shortest, &longest, &courtesy, &patience},
           spin_then_park<Env>::tunables);

  arrival lock() {
    if (take()) [[likely]] {
      return arrival::uncontended;
    }
    if (!race()) {
      queue_and_stand_by();
    }
    return arrival::contended;
  }

  bool try_lock() { return outer_.load(std::memory_order_relaxed) == 0 && take(); }

  void unlock() {
    std::uintptr_t seen = held_;
    // Acquire, here and below, pairs with the release of the standby that stored its node.
    if (!outer_.compare_exchange_strong(seen, 0, std::memory_order_release,
                                        std::memory_order_acquire)) {
      leave(seen);
    }
  }

 private:
  static constexpr std::uintptr_t held_ = 1;
  static constexpr std::uintptr_t slow_ = 2;
  static constexpr std::uintptr_t waits_ = 4;
  static constexpr std::uintptr_t hands_over_ = 8;
  static constexpr std::uintptr_t tags_ = held_ | slow_ | waits_ | hands_over_;

  static std::uintptr_t word_of(node* standby) { return reinterpret_cast<std::uintptr_t>(standby); }
  static node* node_of(std::uintptr_t word) { return reinterpret_cast<node*>(word & ~tags_); }

  /// Acquire pairs with the release that freed the lock.
  bool take(std::uintptr_t as = held_) {
    std::uintptr_t free = 0;
    return outer_.compare_exchange_strong(free, as, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  /// Polls with back-off for a number of attempts. True if it acquired the lock.
  [[gnu::noinline]] bool race() {
    growing_delay delay{Env::template value<shortest>(), Env::template value<longest>()};
    for (std::uint64_t left = Env::template value<attempts>(); left != 0; --left) {
      Env::delay(1 + Env::random(delay.next()));
      if (try_lock()) {
        return true;
      }
    }
    return false;
  }

  [[gnu::noinline]] void queue_and_stand_by() {
    node* me = Env::template take_node<node>();
    me->next.store(nullptr, std::memory_order_relaxed);
    me->cell.arm();
    // Release publishes the node; acquire pairs with it, for the node before.
    if (node* before = inner_.exchange(me, std::memory_order_acq_rel)) {
      // Release pairs with the acquire loads of next in leave().
      before->next.store(me, std::memory_order_release);
      me->cell.wait();
    }
    me->given = false;
    for (std::uint64_t lost = 0;; ++lost) {
      Env::delay(static_cast<std::uint32_t>(Env::template value<courtesy>()));
      if (take(word_of(me) | held_ | slow_)) {
        return;
      }
      if (request_wake(me, lost >= Env::template value<patience>())) {
        me->cell.wait();
        if (me->given) {
          return;
        }
      }
    }
  }

  /// Announces that the standby waits to be woken at the release, or to be given the lock.
  /// False if the lock has been released meanwhile.
  bool request_wake(node* me, bool to_be_given) {
    me->cell.arm();
    std::uintptr_t seen = outer_.load(std::memory_order_relaxed);
    while (seen != 0) {
      // What is replaced is held_ alone, or the word of the previous standby,
      // which is leaving. Release publishes the armed cell to the holder.
      if (outer_.compare_exchange_strong(
              seen, word_of(me) | held_ | waits_ | (to_be_given ? hands_over_ : 0),
              std::memory_order_release, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// The unlock of a holder that has waiters.
  [[gnu::noinline]] void leave(std::uintptr_t seen) {
    node* next = nullptr;
    node* me = nullptr;
    if ((seen & slow_) != 0) {
      me = node_of(seen);
      next = leave_queue(me);
    } else if ((seen & hands_over_) != 0) {
      node* standby = node_of(seen);
      // Relaxed: the grant hands the section's writes over.
      outer_.store(word_of(standby) | held_ | slow_, std::memory_order_relaxed);
      standby->given = true;
      standby->cell.grant();
      return;
    }
    // Release pairs with the acquire in take().
    seen = outer_.exchange(0, std::memory_order_acq_rel);
    // From here on the lock may be gone, if no thread waits.
    if ((seen & waits_) != 0) {
      node_of(seen)->cell.grant();
    }
    if (next != nullptr) {
      next->cell.grant();
    }
    if (me != nullptr) {
      Env::give_node(me);
    }
  }

  /// The next standby, or null.
  node* leave_queue(node* me) {
    node* last = me;
    // Relaxed: a thread that finds an empty queue reads nothing of this one's.
    if (inner_.compare_exchange_strong(last, nullptr, std::memory_order_relaxed,
                                       std::memory_order_relaxed)) {
      return nullptr;
    }
    return await_link<spin_then_park<Env>>(me->next);
  }

  typename Env::template atomic<std::uintptr_t> outer_{};
  typename Env::template atomic<node*> inner_{};
};

}  // namespace lockwright
