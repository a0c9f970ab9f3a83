// k42-mcs: an MCS queue in which the lock itself is the holder's node. A queue
// node is needed only while a thread waits, so a lock that no thread waits for
// costs two compare-and-swaps and no node, and unlock needs nothing from lock.
//
// Citation: M. Auslander, D. Edelsohn, O. Krieger, B. Rosenburg, R. Wisniewski,
// "Enhancement to the MCS lock for increased functionality and improved
// programmability", U.S. patent application 10/128,745, 2003; as described in
// M. L. Scott, T. Brown, "Shared-Memory Synchronization", 2nd ed., 2024, 4.3.
//
//   word | meaning                                              | written by
//   tail | null: free; the lock's own node: held and no thread  | arriving threads; a thread
//        | waits; else the node of the last waiter              | that gets the lock; the holder
//   next | the first waiter, null when there is none            | the first waiter, if it finds no
//        |                                                      | thread waiting; else the thread
//        |                                                      | that gets the lock
//
//   node | next: the node behind; cell: granted to this node's owner
//
// The two words of the lock are such a node without a cell. The published lock grants
// by the word `tail` of a waiting thread's node, this one by the cell.
//
// Invariants
//   ORDER      the queue is in the order of the compare-and-swaps on tail.
//   HOLDER-IS-LOCK  the thread that gets the lock replaces its node in the queue by the lock
//              before it enters, so its node is out of use then.
//   LINK       a node that is not the last gets its next pointer in a bounded
//              number of its successor's steps.
#pragma once

#include <atomic>

#include "lockwright/lock.hpp"
#include "lockwright/parts/await_link.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class k42_mcs {
  struct node;
  using link = typename Env::template atomic<node*>;

  struct alignas(64) node {
    link next{};
    spin_wait<Env> cell;
  };

 public:
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .fifo = true,
      .light = true,
      .node_bytes = sizeof(node),
      .patents = "application US 2003/0200457, abandoned",
      .reference =
          "Auslander, Edelsohn, Krieger, Rosenburg and Wisniewski, US patent application "
          "10/128,745, 2003",
      .summary =
          "An MCS queue in which the lock stands in the holder's place, so that a node is needed "
          "only while waiting. First come, first served, and light when uncontended; collapses "
          "when threads outnumber cores."};

  static constexpr tunable_list<0> tunables{};

  arrival lock() {
    if (try_lock()) {
      return arrival::uncontended;
    }
    return wait_and_replace();
  }

  bool try_lock() {
    node* free = nullptr;
    // Acquire pairs with the release in unlock() that found no thread waiting.
    return tail_.load(std::memory_order_relaxed) == nullptr &&
           tail_.compare_exchange_strong(free, own_node(), std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  void unlock() {
    // Acquire, here and below, pairs with the release store of next by the waiter.
    node* first = next_.load(std::memory_order_acquire);
    if (first == nullptr) {
      node* alone = own_node();
      // Release pairs with the acquire in try_lock().
      if (tail_.compare_exchange_strong(alone, nullptr, std::memory_order_release,
                                        std::memory_order_relaxed)) {
        return;
      }
      first = await_link<spin_wait<Env>>(next_);
    }
    first->cell.grant();
  }

 private:
  /// The value of tail that denotes the lock. Never followed: the lock's link is next_.
  node* own_node() { return reinterpret_cast<node*>(this); }

  [[gnu::noinline]] arrival wait_and_replace() {
    node* me = Env::template take_node<node>();
    me->next.store(nullptr, std::memory_order_relaxed);
    me->cell.arm();
    node* before = tail_.load(std::memory_order_relaxed);
    for (;;) {
      if (before == nullptr) {
        if (try_lock()) {
          break;
        }
        before = tail_.load(std::memory_order_relaxed);
      } else if (tail_.compare_exchange_strong(before, me, std::memory_order_acq_rel,
                                               std::memory_order_relaxed)) {
        // Release above publishes the node (pairs with the acquire of next and
        // tail by others); acquire pairs with the release of the one before.
        link& its_next = before == own_node() ? next_ : before->next;
        its_next.store(me, std::memory_order_release);
        me->cell.wait();
        replace(*me);
        break;
      }
    }
    Env::give_node(me);
    return arrival::contended;
  }

  /// Replaces `me` in the queue by the lock. Relaxed: only the holder uses next_ here, and an
  /// arriving thread finds it through tail.
  void replace(node& me) {
    node* behind = me.next.load(std::memory_order_acquire);
    if (behind == nullptr) {
      next_.store(nullptr, std::memory_order_relaxed);
      node* last = &me;
      // Release: pairs with the acquire of tail by the thread that sets next_ then.
      if (tail_.compare_exchange_strong(last, own_node(), std::memory_order_release,
                                        std::memory_order_relaxed)) {
        return;
      }
      behind = await_link<spin_wait<Env>>(me.next);
    }
    next_.store(behind, std::memory_order_relaxed);
  }

  link tail_{};
  link next_{};
};

}  // namespace lockwright
