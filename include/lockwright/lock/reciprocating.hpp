// reciprocating: arriving threads push themselves on a stack by one exchange;
// when the holder's segment of waiters is empty it takes the whole stack as
// the next segment. Each waits on its own node, and no unlock waits for a link.
//
// Citation: D. Dice, A. Kogan, "Reciprocating Locks", PPoPP 2025.
//
//   word     | meaning                                           | written by
//   arrivals | null: free; else held, and the top of the stack   | arriving threads; the
//            | of the threads that arrived since it was last     | holder, in unlock()
//            | taken; at its bottom is the end below             |
//   holder   | the holder's node                                 | the holder, while inside
//
//   node      | meaning
//   gate      | null: not granted; else granted, and the end of the owner's segment
//   successor | the thread granted when this node's owner leaves, or null
//   end       | the value of arrivals if no thread has come since the segment was taken:
//             | the node of the thread that found the lock free, or taken_
//
// An address at the bottom of a segment marks its end and is never followed, so
// its node may be in use elsewhere by then. The published lock() returns successor
// and end, which the thread passes to unlock(); here they are in the node.
//
// Invariants
//   PUSH-ONLY  a thread gets the node below it from its own exchange, so there
//              is no link that any thread would have to wait for.
//   SEGMENTS   only the holder takes the stack, and only when its own segment is used up; so no
//              thread is overtaken more than once by the same thread while it waits.
//   END        the waiter whose successor is the end has none.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class reciprocating {
  struct alignas(64) node {
    typename Env::template atomic<node*> gate{};
    typename Env::template plain<node*> successor{};
    typename Env::template plain<node*> end{};
  };

 public:
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .node_bytes = sizeof(node),
      .suits = {{{use_case::high_contention, 4, "hands over in short, local steps"}}},
      .patents = "application US 2026/0050478 (pending)",
      .reference = "Dice and Kogan, PPoPP 2025",
      .summary =
          "Arriving threads form a stack, which the holder takes as a whole when those before are "
          "served. Little traffic and no link to wait for; last come, first served within such a "
          "segment, so overtaking is bounded."};

  static constexpr tunable_list<0> tunables{};

  arrival lock() {
    node* me = Env::template take_node<node>();
    me->gate.store(nullptr, std::memory_order_relaxed);
    // Release publishes the node to the exchange of the thread that takes the stack or
    // is pushed upon it; acquire pairs with the release in unlock() that left null.
    node* below = arrivals_.exchange(me, std::memory_order_acq_rel);
    if (below == nullptr) {
      found_free(me);
      return arrival::uncontended;
    }
    wait_above(below, me);
    holder_ = me;
    return arrival::contended;
  }

  bool try_lock() {
    if (arrivals_.load(std::memory_order_relaxed) != nullptr) {
      return false;
    }
    node* me = Env::template take_node<node>();
    node* free = nullptr;
    // Acquire as in lock(). No thread ever follows a pointer to this node: it is an end.
    if (arrivals_.compare_exchange_strong(free, me, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
      found_free(me);
      return true;
    }
    Env::give_node(me);
    return false;
  }

  void unlock() {
    node* me = holder_;
    node* end = me->end;
    if (node* next = me->successor) {
      grant(next, end);
    } else if (node* empty = end;
               // Release pairs with the acquire in lock() and try_lock() that finds null.
               !arrivals_.compare_exchange_strong(empty, nullptr, std::memory_order_release,
                                                  std::memory_order_relaxed)) {
      // Acquire pairs with the exchanges that pushed the nodes of the stack. No thread follows
      // taken(), so there is nothing to release.
      grant(arrivals_.exchange(taken(), std::memory_order_acquire), end);
    }
    Env::give_node(me);
  }

 private:
  /// The value of arrivals_ after the stack was taken.
  static node* taken() { return reinterpret_cast<node*>(std::uintptr_t{1}); }

  void found_free(node* me) {
    me->successor = nullptr;
    me->end = me;
    holder_ = me;
  }

  [[gnu::noinline]] static void wait_above(node* below, node* me) {
    node* end = nullptr;
    // Acquire pairs with the release store in grant().
    while ((end = me->gate.load(std::memory_order_acquire)) == nullptr) {
      Env::relax();
    }
    if (below == end) {
      me->successor = nullptr;
      me->end = taken();
    } else {
      me->successor = below;
      me->end = end;
    }
  }

  /// Release: hands the section's writes to the acquire in wait_above().
  static void grant(node* to, node* end) { to->gate.store(end, std::memory_order_release); }

  typename Env::template atomic<node*> arrivals_{};
  typename Env::template plain<node*> holder_{};
};

}  // namespace lockwright
