// hmcs: an MCS queue per NUMA node below one MCS queue of the nodes. The lock is passed on within a
// node up to a bound before it goes to another node, which keeps its data in one node's caches.
//
// Citation: M. Chabbi, M. Fagan, J. Mellor-Crummey, "High Performance Locks for
// Multi-level NUMA Systems", PPoPP 2015. Two levels here.
//
//   word    | meaning                                      | written by
//   tree    | the two levels, made at the first use        | see outside
//   holder  | the holder's entry in its leaf               | the holder, while inside
//   root    | last entry of the queue of waiting NUMA      | first threads of the leaves;
//           | nodes, null when the lock is free            | the last holder
//   at_root | the entry at the root under which the holder | the thread that takes the root
//           | has the lock                                 |
//   leaf    | last entry of the queue of one NUMA node's   | that node's threads
//           | threads, null when empty                     |
//
//   status of an entry         | meaning
//   wait_ (2^64 - 1)           | not granted
//   acquire_parent_ (2^64 - 2) | the leaf is granted; the owner has to acquire the root
//   1 .. batch                 | lock granted; how often it was passed on in this leaf
//
// Invariants
//   ORDER      each queue is in the order of the exchanges on its tail.
//   PASSED-ON  the root is acquired with an extra entry, not one of the leaf: threads that
//              get the lock within the leaf get the root with it, and the one that releases
//              the root recycles the entry.
//   ROOT-LAST  the published unlock releases the root, then the leaf, which the
//              next holder may have destroyed by then. Here the leaf comes
//              first, so that the releasing thread has finished with the tree.
//   BATCH      after `batch` passes within a leaf the root is released, so no
//              node waits for more than batch_ holders of each other node.
//   SAME-LEAF  a node records its leaf, so a holder that has migrated releases the right one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/outside.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class hmcs {
 protected:
  struct leaf;

  struct alignas(64) node {
    typename Env::template atomic<node*> next{};
    typename Env::template atomic<std::uint64_t> status{};
    typename Env::template plain<leaf*> at{};
  };

  using queue_tail = typename Env::template atomic<node*>;

  struct alignas(64) leaf {
    queue_tail tail;
  };

  struct alignas(64) tree {
    queue_tail root;
    typename Env::template plain<node*> at_root;
    leaf leaves[1];  // Env::nodes() of them; the memory is reserved for all

    static std::size_t bytes() { return sizeof(tree) + (Env::nodes() - 1) * sizeof(leaf); }
  };

 public:
  static constexpr lock_traits traits{
      .category = category::hierarchical,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .numa_aware = true,
      .hardened_trylock = true,
      .node_bytes = 2 * sizeof(node),  // one in the leaf, one at the root
      .suits = {{{use_case::trylock_loop, 2, "its trylock takes longest, 220 cycles (TOCS 2019)"},
                 {use_case::extreme_contention, 1,
                  "among the best with all threads in three of the papers' machines (TOCS 2019)"},
                 {use_case::high_contention, 7,
                  "among the best with the best number of nodes (TOCS 2019)"}}},
      .reference = "Chabbi, Fagan and Mellor-Crummey, PPoPP 2015",
      .summary =
          "A queue of threads per NUMA node below a queue of the nodes, passing the lock on "
          "within a node up to a bound. Made for machines with several nodes; heavy when "
          "uncontended."};

  static constexpr tunable batch{
      .name = "batch",
      .default_value = 100,
      .counted_in = unit::count,
      .min = 1,
      .max = std::uint64_t{1} << 32,
      .model_value = 2,
      .meaning = "how often a NUMA node passes the lock on within itself, at most",
      .source = "LiTL (Guerraoui et al., TOCS 2019)"};
  static constexpr tunable_list<1> tunables{&batch};

  using part = tree;

  arrival lock(tree& levels) {
    leaf& local = levels.leaves[Env::node()];
    node* me = Env::template take_node<node>();
    me->at = &local;
    arrival found = enqueue(local.tail, *me);
    if (me->status.load(std::memory_order_relaxed) == acquire_parent_) {
      found = take_root(levels, *me, found);
    }
    holder_ = me;
    return found;
  }

  /// Acquires both levels by compare-and-swap; a leaf without the root is handed on. Never waits
  /// for the lock, but may wait for a thread that has joined that leaf meanwhile to set its link.
  bool try_lock(tree& levels) {
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
    node* entry = Env::template take_node<node>();
    if (!enqueue_if_empty(levels.root, *entry)) {
      Env::give_node(entry);
      if (node* behind = leave(local.tail, *me)) {
        grant(*behind, acquire_parent_);
      }
      Env::give_node(me);
      return false;
    }
    levels.at_root = entry;
    me->status.store(cohort_start_, std::memory_order_relaxed);
    holder_ = me;
    return true;
  }

  void unlock(tree& levels) {
    node* me = holder_;
    leaf& local = *static_cast<leaf*>(me->at);
    const std::uint64_t passes = me->status.load(std::memory_order_relaxed);
    node* behind = leave(local.tail, *me);
    if (behind != nullptr && passes < Env::template value<batch>()) {
      grant(*behind, passes + 1);
      Env::give_node(me);
      return;
    }
    if (behind != nullptr) {
      grant(*behind, acquire_parent_);
    }
    release_root(levels);
    Env::give_node(me);
  }

 protected:
  static constexpr std::uint64_t wait_ = ~std::uint64_t{0};
  static constexpr std::uint64_t acquire_parent_ = wait_ - 1;
  static constexpr std::uint64_t cohort_start_ = 1;
  static constexpr std::uint64_t granted_at_root_ = cohort_start_;

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
    // Release pairs with the acquire loads of next in leave().
    before->next.store(&me, std::memory_order_release);
    // Acquire pairs with the release store in grant().
    while (me.status.load(std::memory_order_acquire) == wait_) {
      Env::relax();
    }
    return arrival::contended;
  }

  static bool enqueue_if_empty(queue_tail& tail, node& me) {
    me.next.store(nullptr, std::memory_order_relaxed);
    node* empty = nullptr;
    // As the exchange in enqueue(). The status is not armed: no thread grants the first entry.
    return tail.compare_exchange_strong(empty, &me, std::memory_order_acq_rel,
                                        std::memory_order_relaxed);
  }

  /// Called when the leaf is granted to `me`, but not the lock.
  static arrival take_root(tree& levels, node& me, arrival found) {
    node* entry = Env::template take_node<node>();
    if (enqueue(levels.root, *entry) == arrival::contended) {
      found = arrival::contended;
    }
    levels.at_root = entry;
    me.status.store(cohort_start_, std::memory_order_relaxed);
    return found;
  }

  static void release_root(tree& levels) {
    node* entry = levels.at_root;
    if (node* behind = leave(levels.root, *entry)) {
      grant(*behind, granted_at_root_);
    }
    // From here on the lock may be destroyed; the entry is the caller's.
    Env::give_node(entry);
  }

  /// Takes `me` out of a queue that it is the first of; its successor, or null
  /// if the queue is empty now.
  static node* leave(queue_tail& tail, node& me) {
    // Acquire, here and below, pairs with the release store of next in enqueue().
    node* behind = me.next.load(std::memory_order_acquire);
    if (behind == nullptr) {
      node* last = &me;
      // Release pairs with the acquire in enqueue() and enqueue_if_empty() that finds null.
      if (tail.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return nullptr;
      }
      while ((behind = me.next.load(std::memory_order_acquire)) == nullptr) {
        Env::relax();
      }
    }
    return behind;
  }

  /// Release: hands what the caller did to the acquire load of status in enqueue().
  static void grant(node& behind, std::uint64_t message) {
    behind.status.store(message, std::memory_order_release);
  }

  typename Env::template plain<node*> holder_{};
};

}  // namespace lockwright
