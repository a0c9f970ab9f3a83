// ahmcs: hmcs with a shortcut. A thread that found no thread waiting when it left
// the lock queues at the root the next time, past the queue of its NUMA node;
// one that found several waiters goes through its node's queue again.
//
// Citation: M. Chabbi, J. Mellor-Crummey, "Contention-Conscious, Locality-Preserving Locks", PPoPP
// 2016. Two levels, and without transactional memory (AHMCS, not AHMCS-HTM).
//
// The words and the invariants are those of hmcs, and the following:
//
//   word   | meaning                                           | written by
//   hint   | one bit of the thread, outside the lock: the next | the thread, in unlock()
//          | time it goes straight to the root                 |
//   at     | of an entry: null if its thread went straight to  | its thread
//          | the root, else the leaf where it queued           |
//
//   left the lock by  | while                           | hint
//   the root alone    | no thread waited                | straight
//   the root alone    | one waited                      | unchanged
//   the root alone    | two or more waited              | through the leaf
//   the leaf and root | no thread waited in the leaf at | straight
//                     | either end of the section       |
//   the leaf and root | a thread waited in the leaf     | through the leaf
//
// The published lock records the hint for each pair of thread and lock. Here a thread has a
// fixed number of such bits, and locks may share one. The published lock also chooses the leaf
// at arrival, depending on the last queue in its record; here that is decided at release.
//
// Invariants
//   FAST-PATH  where both queues look empty, a thread takes the root alone, whatever its
//              hint. Entering at either level is always correct, since the holder of the root
//              holds the lock.
//   AT-ROOT    at_root is the holder's own entry exactly if the holder went
//              straight, so releasing the root recycles the right entry.
#pragma once

#include <atomic>

#include "lockwright/lock.hpp"
#include "lockwright/lock/hmcs.hpp"

namespace lockwright {

template <class Env>
class ahmcs : hmcs<Env> {
  using levels_below = hmcs<Env>;
  using typename levels_below::node;
  using typename levels_below::tree;

 public:
  // The trylock is that of the root and never waits, so it needs no hardening.
  static constexpr lock_traits traits{
      .category = category::load_control,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .numa_aware = true,
      .node_bytes = levels_below::traits.node_bytes,
      .suits = {{{use_case::extreme_contention, 5,
                  "the papers' advice for extreme contention (TOCS 2019, figure 7)"}}},
      .reference = "Chabbi and Mellor-Crummey, PPoPP 2016",
      .summary =
          "A queue of threads per NUMA node below a queue of the nodes, where a thread that "
          "found the lower one empty goes to the upper one at once. Made for machines with several "
          "nodes; "
          "lighter than hmcs when uncontended."};

  using levels_below::tunables;
  using typename levels_below::part;

  arrival lock(tree& levels) {
    if (!goes_straight(levels)) {
      return levels_below::lock(levels);
    }
    node* me = Env::template take_node<node>();
    me->at = nullptr;
    const arrival found = this->enqueue(levels.root, *me);
    hold(levels, me);
    return found;
  }

  bool try_lock(tree& levels) {
    if (levels.root.load(std::memory_order_relaxed) != nullptr) {
      return false;
    }
    node* me = Env::template take_node<node>();
    me->at = nullptr;
    if (!this->enqueue_if_empty(levels.root, *me)) {
      Env::give_node(me);
      return false;
    }
    hold(levels, me);
    return true;
  }

  void unlock(tree& levels) {
    node* me = this->holder_;
    // Relaxed, here and below: these loads only make the hint.
    node* behind = me->next.load(std::memory_order_relaxed);
    if (me->at != nullptr) {
      const bool began = me->status.load(std::memory_order_relaxed) == levels_below::cohort_start_;
      Env::set_hint(this, began && behind == nullptr);
      levels_below::unlock(levels);
      return;
    }
    if (behind == nullptr) {
      Env::set_hint(this, true);
    } else if (levels.root.load(std::memory_order_relaxed) != behind) {
      Env::set_hint(this, false);
    }
    this->release_root(levels);
  }

 private:
  bool goes_straight(tree& levels) const {
    return Env::hint(this) ||
           (levels.root.load(std::memory_order_relaxed) == nullptr &&
            levels.leaves[Env::node()].tail.load(std::memory_order_relaxed) == nullptr);
  }

  void hold(tree& levels, node* me) {
    levels.at_root = me;
    this->holder_ = me;
  }
};

}  // namespace lockwright
