// hclh: a queue of waiting threads per NUMA node, which its first thread appends as one batch
// to a global queue. Threads of a node that arrived together get the lock one after the other.
//
// Citation: V. Luchangco, D. Nussbaum, N. Shavit, "A Hierarchical CLH Queue Lock", Euro-Par 2006.
//
//   word   | meaning                                       | written by
//   queues | all tails, made at the first use              | see outside
//   holder | the holder's node                             | the holder, while inside
//   global | last node of the queue of all NUMA nodes,     | masters; the last holder
//          | null when the lock is free                    |
//   local  | last thread that queued at one NUMA node,     | that node's threads
//          | null when none has since the last splice      |
//
//   node    | read by              | waiting | granted         | spliced
//   near    | the next thread of   | wait    | it has the      | it is the master, and
//           | the NUMA node        |         | lock            | moves its queue
//   far     | the next master in   | wait    | it has the      | -
//           | the global queue     |         | lock            |
//   left    | the number of its two watchers that have finished with a spliced node
//
// A thread that finds no thread before it in its NUMA node, or a node that has been spliced, is the
// master: it appends its queue, by its last node, to the global queue.
//
// In the published lock the next master reuses a spliced node, while a thread of the node's own
// NUMA node may still read it, now or later: if it is back in that NUMA node's queue by then, the
// two wait for each other, or both enter. Here such a node is recycled by the later of its two
// watchers, and a tail that no thread has queued behind is removed from the local queue at once. As
// in clh, null denotes the dummy node, so that zeroed memory is an unlocked lock.
//
// Invariants
//   ORDER      the global queue is in the order of the exchanges on global, and
//              within a splice in that of the exchanges on local.
//   ONE-WATCHER  a node that is not spliced is read only by the next thread of its NUMA
//              node, which recycles it.
//   TWO-WATCHERS  a spliced node is released once for its NUMA node, by the next thread there or by
//              the master if there is none, and once for the global queue, by the next master or by
//              its owner if there is none; the second of the two recycles it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/outside.hpp"

namespace lockwright {

template <class Env>
class hclh {
  using word = typename Env::template atomic<std::uint32_t>;

  struct alignas(64) node {
    word near;
    word far;
    word left;
  };

  using queue_tail = typename Env::template atomic<node*>;

  struct alignas(64) local_queue {
    queue_tail tail;
  };

  struct alignas(64) tails {
    queue_tail global;
    local_queue locals[1];  // Env::nodes() of them; the memory is reserved for all

    static std::size_t bytes() { return sizeof(tails) + (Env::nodes() - 1) * sizeof(local_queue); }
  };

 public:
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .numa_aware = true,
      .node_bytes = sizeof(node),
      .reference = "Luchangco, Nussbaum and Shavit, Euro-Par 2006",
      .summary =
          "A queue per NUMA node, moved as a whole to the end of a queue for all, so that threads "
          "of a node that arrive together enter one after the other. Little traffic; collapses "
          "when threads outnumber cores."};

  using part = tails;

  arrival lock(tails& all) {
    queue_tail& local = all.locals[Env::node()].tail;
    node* me = fresh_node();
    // Release publishes the node; acquire pairs with that of the node before.
    node* before = local.exchange(me, std::memory_order_acq_rel);
    holder_on_entry found =
        before == nullptr ? holder_on_entry{false, arrival::uncontended} : wait_near(*before);
    if (!found.has_lock && splice(all.global, local) == arrival::contended) {
      found.how = arrival::contended;
    }
    holder_ = me;
    return found.how;
  }

  /// Takes a free lock as a queue of one that has been spliced already.
  bool try_lock(tails& all) {
    if (all.global.load(std::memory_order_relaxed) != nullptr) {
      return false;
    }
    node* me = fresh_node();
    me->near.store(spliced_, std::memory_order_relaxed);
    me->left.store(1, std::memory_order_relaxed);
    node* free = nullptr;
    // As the exchange in splice().
    if (!all.global.compare_exchange_strong(free, me, std::memory_order_acq_rel,
                                            std::memory_order_relaxed)) {
      Env::give_node(me);
      return false;
    }
    holder_ = me;
    return true;
  }

  void unlock(tails& all) {
    node* me = holder_;
    // Relaxed: the master wrote it before it had the lock, and it had the lock before the caller.
    if (me->near.load(std::memory_order_relaxed) != spliced_) {
      // Release pairs with the acquire in wait_near(). The node is the next thread's.
      me->near.store(granted_, std::memory_order_release);
      return;
    }
    queue_tail& global = all.global;
    node* last = me;
    if (global.load(std::memory_order_relaxed) == me &&
        // Release pairs with the acquire in splice() and try_lock() that finds null.
        global.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      release(*me);
      return;
    }
    // Release pairs with the acquire in splice(). The rest is the next master's.
    me->far.store(granted_, std::memory_order_release);
  }

 private:
  static constexpr std::uint32_t waiting_ = 0;
  static constexpr std::uint32_t granted_ = 1;
  static constexpr std::uint32_t spliced_ = 2;

  struct holder_on_entry {
    bool has_lock;
    arrival how;
  };

  static node* fresh_node() {
    node* me = Env::template take_node<node>();
    me->near.store(waiting_, std::memory_order_relaxed);
    me->far.store(waiting_, std::memory_order_relaxed);
    me->left.store(0, std::memory_order_relaxed);
    return me;
  }

  /// Waits behind a thread of the same NUMA node: for the lock, or to be the master.
  [[gnu::noinline]] static holder_on_entry wait_near(node& before) {
    std::uint32_t seen = waiting_;
    // Acquire pairs with the release store in unlock().
    while ((seen = before.near.load(std::memory_order_acquire)) == waiting_) {
      Env::relax();
    }
    if (seen == granted_) {
      Env::give_node(&before);
      return {true, arrival::contended};
    }
    release(before);
    return {false, arrival::uncontended};
  }

  /// Moves the caller's queue, of which it is the first, and waits for the lock.
  static arrival splice(queue_tail& global, queue_tail& local) {
    // Acquire pairs with the exchange in lock(), which publishes the node.
    node* last = local.load(std::memory_order_acquire);
    // Release publishes the node; acquire pairs with the release in unlock()
    // that left null, and with that of the node before.
    node* before = global.exchange(last, std::memory_order_acq_rel);
    // The tail first: until the next thread finds the node spliced, it is unchanged.
    node* alone = last;
    const bool none_behind = local.compare_exchange_strong(
        alone, nullptr, std::memory_order_relaxed, std::memory_order_relaxed);
    // Relaxed: the next thread only releases the node after it.
    last->near.store(spliced_, std::memory_order_relaxed);
    if (none_behind) {
      release(*last);
    }
    if (before == nullptr) {
      return arrival::uncontended;
    }
    wait_far(*before);
    return arrival::contended;
  }

  [[gnu::noinline]] static void wait_far(node& before) {
    while (before.far.load(std::memory_order_acquire) == waiting_) {
      Env::relax();
    }
    release(before);
  }

  /// Called by each of the two watchers of a spliced node. Acquire and release: what
  /// the first did with the node comes before the second recycles it.
  static void release(node& watched) {
    if (watched.left.fetch_add(1, std::memory_order_acq_rel) == 1) {
      Env::give_node(&watched);
    }
  }

  typename Env::template plain<node*> holder_{};
};

}  // namespace lockwright
