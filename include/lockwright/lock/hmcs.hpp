// hmcs: an MCS queue per NUMA node below one MCS queue of the nodes. The lock is
// passed on within a node up to a bound before it goes to another node, which
// keeps its data in one node's caches.
//
// Citation: M. Chabbi, M. Fagan, J. Mellor-Crummey, "High Performance Locks for
// Multi-level NUMA Systems", PPoPP 2015. Two levels here.
//
//   in place | tree: the two levels, made at the first use; holder: the holder's node
//   root     | tail: queue of the NUMA nodes that want the lock
//   leaf     | tail: queue of one NUMA node's threads; up: that node's entry at the root
//
//   status of a queue entry    | meaning
//   wait_ (2^64 - 1)           | not granted
//   acquire_parent_ (2^64 - 2) | the leaf is yours, the root is not: go and take it
//   1 .. batch_                | lock granted; how often it was passed on in this leaf
//
// Invariants
//   ORDER      each queue is in the order of the exchanges on its tail.
//   UP-OWNED   a leaf's `up` is used only by the thread that holds the leaf.
//   BATCH      after batch_ passes within a leaf the root is released, so no
//              node waits for more than batch_ holders of each other node.
//   SAME-LEAF  a node remembers the leaf it queued at, so a holder that has
//              migrated releases the right one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/lazy_part.hpp"
#include "lockwright/lock.hpp"

namespace lockwright {

template <class Env>
class hmcs {
  struct leaf;

  struct alignas(64) node {
    typename Env::template atomic<node*> next{};
    typename Env::template atomic<std::uint64_t> status{};
    typename Env::template plain<leaf*> at{};
  };

  using queue_tail = typename Env::template atomic<node*>;

  struct alignas(64) leaf {
    queue_tail tail;
    node up;
  };

  struct alignas(64) tree {
    queue_tail root;
    leaf leaves[1];  // Env::nodes() of them; the memory is reserved for all

    static std::size_t bytes() { return sizeof(tree) + (Env::nodes() - 1) * sizeof(leaf); }
  };

 public:
  static constexpr lock_traits traits{
      .category = category::hierarchical,
      .waiting = waiting::spin,
      .numa_aware = true,
      .hardened_trylock = true,
      .node_bytes = sizeof(node),
      .reference = "Chabbi, Fagan and Mellor-Crummey, PPoPP 2015",
      .summary =
          "A queue of threads per NUMA node below a queue of the nodes, passing the lock on "
          "within a node up to a bound. Made for machines with several nodes; heavy when "
          "uncontended."};

  static std::uint64_t bytes_outside() { return tree::bytes(); }

  arrival lock() {
    tree& levels = tree_.get();
    leaf& local = levels.leaves[Env::node()];
    node* me = Env::template take_node<node>();
    me->at = &local;
    arrival found = enqueue(local.tail, *me);
    holder_enters(levels, local, *me, found);
    holder_ = me;
    return found;
  }

  /// Both levels by compare-and-swap; a leaf that was taken in vain is handed
  /// on with acquire_parent_.
  bool try_lock() {
    tree& levels = tree_.get();
    leaf& local = levels.leaves[Env::node()];
    if (local.tail.load(std::memory_order_relaxed) != nullptr) {
      return false;
    }
    node* me = Env::template take_node<node>();
    me->at = &local;
    if (!enqueue_if_empty(local.tail, *me)) {
      Env::give_node(me);
      return false;
    }
    if (!enqueue_if_empty(levels.root, local.up)) {
      release(local.tail, *me, acquire_parent_);
      Env::give_node(me);
      return false;
    }
    me->status.store(cohort_start_, std::memory_order_relaxed);
    holder_ = me;
    return true;
  }

  void unlock() {
    node* me = holder_;
    leaf& local = *static_cast<leaf*>(me->at);
    std::uint64_t passes = me->status.load(std::memory_order_relaxed);
    if (passes < batch_) {
      // Acquire pairs with the release store of next in enqueue().
      if (node* behind = me->next.load(std::memory_order_acquire)) {
        behind->status.store(passes + 1, std::memory_order_release);
        Env::give_node(me);
        return;
      }
    }
    release(tree_.get().root, local.up, granted_at_root_);
    release(local.tail, *me, acquire_parent_);
    Env::give_node(me);
  }

 private:
  static constexpr std::uint64_t wait_ = ~std::uint64_t{0};
  static constexpr std::uint64_t acquire_parent_ = wait_ - 1;
  static constexpr std::uint64_t cohort_start_ = 1;
  static constexpr std::uint64_t granted_at_root_ = cohort_start_;
  // Consecutive hand-overs within a NUMA node, as in the lock study's library (LiTL).
  static constexpr std::uint64_t batch_ = 100;

  /// Queues `me` and waits until it is granted; `uncontended` if the queue was empty.
  static arrival enqueue(queue_tail& tail, node& me) {
    me.next.store(nullptr, std::memory_order_relaxed);
    me.status.store(wait_, std::memory_order_relaxed);
    // Release publishes the node; acquire pairs with the release that emptied the queue.
    node* before = tail.exchange(&me, std::memory_order_acq_rel);
    if (before == nullptr) {
      me.status.store(acquire_parent_, std::memory_order_relaxed);
      return arrival::uncontended;
    }
    // Release pairs with the acquire loads of next in unlock() and release().
    before->next.store(&me, std::memory_order_release);
    // Acquire pairs with the release store of status by the granter.
    while (me.status.load(std::memory_order_acquire) == wait_) {
      Env::relax();
    }
    return arrival::contended;
  }

  static bool enqueue_if_empty(queue_tail& tail, node& me) {
    me.next.store(nullptr, std::memory_order_relaxed);
    node* empty = nullptr;
    return tail.compare_exchange_strong(empty, &me, std::memory_order_acq_rel,
                                        std::memory_order_relaxed);
  }

  /// With the leaf granted: takes the root too, unless the lock came with the leaf.
  static void holder_enters(tree& levels, leaf& local, node& me, arrival& found) {
    if (me.status.load(std::memory_order_relaxed) != acquire_parent_) {
      return;
    }
    if (enqueue(levels.root, local.up) == arrival::contended) {
      found = arrival::contended;
    }
    me.status.store(cohort_start_, std::memory_order_relaxed);
  }

  /// Leaves a queue: tells the successor `message`, or empties the queue.
  static void release(queue_tail& tail, node& me, std::uint64_t message) {
    node* behind = me.next.load(std::memory_order_acquire);
    if (behind == nullptr) {
      node* last = &me;
      if (tail.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return;
      }
      while ((behind = me.next.load(std::memory_order_acquire)) == nullptr) {
        Env::relax();
      }
    }
    behind->status.store(message, std::memory_order_release);
  }

  lazy_part<Env, tree> tree_;
  typename Env::template plain<node*> holder_{};
};

}  // namespace lockwright
