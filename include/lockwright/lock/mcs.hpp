// mcs: a queue of waiting threads, each polling a flag in its own node, which
// its predecessor sets. FIFO, and a handover touches one remote cache line.
//
// Citation: J. M. Mellor-Crummey, M. L. Scott, "Algorithms for Scalable
// Synchronization on Shared-Memory Multiprocessors", ACM TOCS 9(1), 1991.
// The waiting policy is a parameter: mcs-spin polls, mcs-stp polls and parks.
//
//   word   | meaning                                   | written by
//   tail   | last node of the queue, null when free    | arriving threads; the last holder
//   holder | the holder's node                         | the holder, while inside
//
//   node   | next: the node behind; cell: granted to this node's owner, unless that has left
//
// Invariants
//   ORDER      the queue is in the order of the exchanges on tail.
//   OWN-NODE   a node is in the queue from its exchange on tail until its
//              owner's unlock, or, if the owner has left at a deadline, the one of the thread
//              before, has granted the successor or emptied the queue.
//   LINK       a node that is not the last gets its next pointer in a bounded
//              number of its successor's steps.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/await_link.hpp"
#include "lockwright/parts/wait.hpp"

namespace lockwright {

template <class Env, template <class> class Wait>
class mcs {
  struct alignas(64) node {
    typename Env::template atomic<node*> next{};
    Wait<Env> cell;
  };

 public:
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = Wait<Env>::policy,
      .realtime = own_order_unless_polling(Wait<Env>::policy),
      .fifo = true,
      .node_bytes = sizeof(node),
      .suits = Wait<Env>::policy == waiting::spin
                   ? suit_list{{{use_case::high_contention, 1,
                                 "fastest at its best number of nodes on the 64 processors "
                                 "(TOCS 2019)"}}}
                   : suit_list{{{use_case::crowded, 19,
                                 "parks, but the next in line is the one most likely asleep"}}},
      .reference = "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991",
      .summary = Wait<Env>::policy == waiting::spin
                     ? "A queue in which every thread polls a flag of its own, set by its "
                       "predecessor. First come, first served, with little traffic; collapses when "
                       "threads outnumber cores."
                     : "A queue in which every thread waits on a flag of its own, set by its "
                       "predecessor, first polling and then asleep. First come, first served; the "
                       "next in line is the one most likely asleep."};

  static constexpr auto tunables = Wait<Env>::tunables;

  arrival lock() {
    node* me = Env::template take_node<node>();
    me->next.store(nullptr, std::memory_order_relaxed);
    me->cell.arm();
    // Release publishes the node (pairs with the acquire of next and tail by
    // others); acquire pairs with the release in unlock() that emptied the queue.
    node* before = tail_.exchange(me, std::memory_order_acq_rel);
    if (before == nullptr) {
      holder_ = me;
      return arrival::uncontended;
    }
    wait_behind(before, me);
    holder_ = me;
    return arrival::contended;
  }

  bool try_lock_until(std::uint64_t deadline)
    requires LeavableWait<Wait<Env>>
  {
    node* me = Env::template take_node<node>();
    me->next.store(nullptr, std::memory_order_relaxed);
    me->cell.arm();
    // As in lock().
    if (node* before = tail_.exchange(me, std::memory_order_acq_rel); before != nullptr) {
      before->next.store(me, std::memory_order_release);
      if (!me->cell.wait_until(deadline)) {
        return false;
      }
    }
    holder_ = me;
    return true;
  }

  bool try_lock() {
    if (tail_.load(std::memory_order_relaxed) != nullptr) {
      return false;
    }
    node* me = Env::template take_node<node>();
    me->next.store(nullptr, std::memory_order_relaxed);
    node* empty = nullptr;
    // As the exchange in lock(). The cell is not armed: no thread grants the first node.
    if (tail_.compare_exchange_strong(empty, me, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      holder_ = me;
      return true;
    }
    Env::give_node(me);
    return false;
  }

  /// True if no thread holds or awaits it at the moment.
  [[nodiscard]] bool is_free() const { return tail_.load(std::memory_order_relaxed) == nullptr; }

  void unlock() {
    node* me = holder_;
    node* behind = nullptr;
    do {
      behind = me->next.load(std::memory_order_acquire);
      if (behind == nullptr) {
        node* last = me;
        // Release pairs with the acquire in lock() and try_lock() that finds null.
        if (tail_.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                          std::memory_order_relaxed)) {
          Env::give_node(me);
          return;
        }
        behind = await_link<Wait<Env>>(me->next);
      }
    } while (!grant(me, behind));
  }

  /// For the holder: hands the lock to the first waiter. False if none waits, or all have left:
  /// then the caller still holds it.
  bool hand_over() {
    node* me = holder_;
    while (tail_.load(std::memory_order_relaxed) != me) {
      if (grant(me, await_link<Wait<Env>>(me->next))) {
        return true;
      }
    }
    holder_ = me;
    return false;
  }

  /// For the holder: true if a thread waits, or has left at a deadline. It may miss one that has
  /// just arrived.
  [[nodiscard]] bool awaited() const { return tail_.load(std::memory_order_relaxed) != holder_; }

  /// For the holder: the number of waiters in the linked part of the queue, those that
  /// have left included.
  [[nodiscard]] std::uint32_t queued() const {
    std::uint32_t count = 0;
    // Acquire, as in unlock(), publishes each node behind. Only an unlock removes
    // any.
    for (const node* at = holder_; (at = at->next.load(std::memory_order_acquire)) != nullptr;) {
      ++count;
    }
    return count;
  }

 private:
  /// Grants the node `behind`. False if its owner has left: then it is the caller's, `me`.
  static bool grant(node*& me, node* behind) {
    const bool is_there = behind->cell.grant();
    Env::give_node(me);
    me = behind;
    return is_there;
  }

  [[gnu::noinline]] static void wait_behind(node* before, node* me) {
    // Release pairs with the acquire load of next in unlock().
    before->next.store(me, std::memory_order_release);
    me->cell.wait();
  }

  typename Env::template atomic<node*> tail_{};
  typename Env::template plain<node*> holder_{};
};

}  // namespace lockwright
