// cna: an MCS queue whose holder passes the lock to the first waiter of its own NUMA node, and
// moves the waiters before that one to a secondary queue, until the node has no waiter left
// or a random draw ends its turn.
//
// Citation: D. Dice, A. Kogan, "Compact NUMA-aware Locks", EuroSys 2019.
//
//   word   | meaning                                            | written by
//   tail   | last node of the main queue, null when free        | arriving threads; the last holder
//   holder | the holder's node                                  | the holder, while inside
//
//   node           | meaning                                       | written by
//   next           | the node behind, in the queue that it is in   | the thread behind; the holder
//   cell           | granted to this node's owner                  | the holder before
//   numa           | the owner's NUMA node, unknown for a thread   | the owner, before it links
//                  | that found the lock free                      | itself
//   secondary      | first node of the secondary queue, null when  | the holder before, when it
//                  | that is empty; in the holder's node only      | grants; the holder
//   secondary_last | last node of the secondary queue, in the      | the holder
//                  | first node of that queue only                 |
//
// The paper packs the grant and `secondary` into one word; here the grant is the same cell as in
// the other queue locks. In the published lock the holder passes its queue node to unlock; here
// the lock records it.
//
// Invariants
//   ORDER      the main queue is in the order of the exchanges on tail, but for
//              what was moved; the secondary queue keeps the order of arrival.
//   ONE-MOVER  only the holder reads or changes the secondary queue, and hands
//              it on with the grant.
//   LAST-STAYS the last node of the main queue is never moved, so that an
//              arriving thread always links itself to a node of the main queue.
//   TURN-ENDS  when the secondary queue is not empty, each handover puts it
//              back before the main queue with probability 1 / turn-one-in.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/await_link.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// The queues of a CNA lock. Held from the return of enter() until leave().
template <class Env>
class cna_queue {
 public:
  class alignas(64) node {
    friend class cna_queue;

    typename Env::template atomic<node*> next{};
    spin_wait<Env> cell;
    typename Env::template plain<std::uint32_t> numa{};
    typename Env::template plain<node*> secondary{};
    typename Env::template plain<node*> secondary_last{};
  };

  static constexpr tunable turn{
      .name = "turn-one-in",
      .default_value = 0x10000,
      .counted_in = unit::one_in,
      .min = 0,
      .max = 0xffff'ffff,
      .model_value = 2,
      .meaning =
          "how rarely the waiters of other NUMA nodes get their turn while the holder's node "
          "has waiters",
      .source = "its authors' THRESHOLD of 0xffff (EuroSys 2019)"};
  static constexpr tunable_list<1> tunables{&turn};

  arrival enter(node& me) {
    me.next.store(nullptr, std::memory_order_relaxed);
    me.cell.arm();
    // Release publishes the node (pairs with the acquire of next and tail by
    // others); acquire pairs with the release in leave() that emptied the queue.
    node* before = tail_.exchange(&me, std::memory_order_acq_rel);
    if (before == nullptr) {
      found_free(me);
      return arrival::uncontended;
    }
    wait_behind(*before, me);
    return arrival::contended;
  }

  /// Enters if the queue is empty.
  bool try_enter(node& me) {
    if (!is_empty()) {
      return false;
    }
    me.next.store(nullptr, std::memory_order_relaxed);
    node* empty = nullptr;
    // As the exchange in enter(). The cell is not armed: no thread grants the first node.
    if (!tail_.compare_exchange_strong(empty, &me, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
      return false;
    }
    found_free(me);
    return true;
  }

  /// A hint: a thread may arrive or leave meanwhile.
  [[nodiscard]] bool is_empty() const { return tail_.load(std::memory_order_relaxed) == nullptr; }

  void leave(node& me) {
    if (node* behind = await_behind(me)) {
      pass(me, *choose_successor(me, *behind));
    }
  }

  /// The part of leave() that can be done earlier; the rest is leave_to_chosen().
  void choose_ahead(node& me) {
    // Acquire, as in await_behind(); relaxed, as in choose_successor().
    if (node* behind = me.next.load(std::memory_order_acquire)) {
      me.next.store(choose_successor(me, *behind), std::memory_order_relaxed);
    }
  }
  void leave_to_chosen(node& me) {
    if (node* behind = await_behind(me)) {
      pass(me, *behind);
    }
  }

 private:
  static constexpr std::uint32_t unknown_ = ~std::uint32_t{0};

  static void found_free(node& me) {
    me.numa = unknown_;
    me.secondary = nullptr;
  }

  [[gnu::noinline]] static void wait_behind(node& before, node& me) {
    me.numa = Env::node();
    // Release pairs with the acquire loads of next by holders.
    before.next.store(&me, std::memory_order_release);
    me.cell.wait();
  }

  /// The node behind `me` in the main queue, or null if there is none; then the
  /// lock is free, or handed to the first of the secondary queue.
  node* await_behind(node& me) {
    // Acquire pairs with the release store of next in wait_behind().
    if (node* behind = me.next.load(std::memory_order_acquire)) {
      return behind;
    }
    if (node* first = me.secondary; first == nullptr ? close(me) : revive(me, *first)) {
      return nullptr;
    }
    return await_link<spin_wait<Env>>(me.next);
  }

  /// Empties the main queue, unless a thread has arrived.
  bool close(node& me) {
    node* last = &me;
    // Release pairs with the acquire in enter() and try_enter() that finds null.
    return tail_.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                         std::memory_order_relaxed);
  }

  /// Makes the secondary queue the main one, unless a thread has arrived in the main one.
  bool revive(node& me, node& first) {
    node* last = &me;
    // Release: an arriving thread's exchange acquires that the last one's next is null.
    if (!tail_.compare_exchange_strong(last, first.secondary_last, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      return false;
    }
    first.secondary = nullptr;
    first.cell.grant();
    return true;
  }

  /// The successor of `me`, with the secondary queue changed accordingly.
  static node* choose_successor(node& me, node& behind) {
    if (!Env::chance(Env::template value<turn>())) {
      if (node* local = next_of_my_node(me, behind)) {
        return local;
      }
    }
    node* first = me.secondary;
    if (first == nullptr) {
      return &behind;
    }
    // Relaxed: the thread that reads it has acquired the lock through grants from here.
    static_cast<node*>(first->secondary_last)->next.store(&behind, std::memory_order_relaxed);
    me.secondary = nullptr;
    return first;
  }

  /// The first waiter of the holder's NUMA node, null if there is none. The
  /// waiters before it go to the secondary queue.
  static node* next_of_my_node(node& me, node& behind) {
    std::uint32_t my_numa = me.numa;
    if (my_numa == unknown_) {
      my_numa = Env::node();
    }
    node* last_foreign = nullptr;
    for (node* waiter = &behind; waiter != nullptr;
         waiter = waiter->next.load(std::memory_order_acquire)) {  // as in await_behind()
      if (waiter->numa == my_numa) {
        if (last_foreign != nullptr) {
          set_aside(me, behind, *last_foreign);
        }
        return waiter;
      }
      last_foreign = waiter;
    }
    return nullptr;
  }

  /// Moves the nodes from `from` to `to` to the end of the secondary queue.
  static void set_aside(node& me, node& from, node& to) {
    // Relaxed, as all changes of links between waiters: see choose_successor().
    if (node* first = me.secondary) {
      static_cast<node*>(first->secondary_last)->next.store(&from, std::memory_order_relaxed);
    } else {
      me.secondary = &from;
    }
    to.next.store(nullptr, std::memory_order_relaxed);
    static_cast<node*>(me.secondary)->secondary_last = &to;
  }

  static void pass(node& me, node& successor) {
    successor.secondary = static_cast<node*>(me.secondary);
    successor.cell.grant();
  }

  typename Env::template atomic<node*> tail_{};
};

template <class Env>
class cna {
  using queue = cna_queue<Env>;
  using node = typename queue::node;

 public:
  static constexpr lock_traits traits{
      .category = category::hierarchical,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .numa_aware = true,
      .node_bytes = sizeof(node),
      .suits = {{{use_case::extreme_contention, 6, "hands over within a node, in one word"}}},
      .patents = "US 10,949,264, 11,494,242 and 12,260,267 (compact NUMA-aware locks)",
      .reference = "Dice and Kogan, EuroSys 2019",
      .summary =
          "A queue lock of one word that hands over within a NUMA node and sets the waiters of "
          "other nodes aside, until chance gives them their turn. As light as MCS; unfair between "
          "nodes for a while."};

  static constexpr auto tunables = queue::tunables;

  arrival lock() {
    node* me = Env::template take_node<node>();
    const arrival found = queue_.enter(*me);
    holder_ = me;
    return found;
  }

  bool try_lock() {
    if (!queue_.is_empty()) {
      return false;
    }
    node* me = Env::template take_node<node>();
    if (!queue_.try_enter(*me)) {
      Env::give_node(me);
      return false;
    }
    holder_ = me;
    return true;
  }

  void unlock() {
    node* me = holder_;
    queue_.leave(*me);
    Env::give_node(me);
  }

 private:
  queue queue_;
  typename Env::template plain<node*> holder_{};
};

}  // namespace lockwright
