// mcs-try: an MCS queue that a waiter can leave at any time, without waiting for the threads
// before and behind it. Later arrivals remove the nodes that were left behind.
//
// Citation: M. L. Scott, "Non-Blocking Timeout in Scalable Queue-Based Spin
// Locks", PODC 2002 (MCS-NB-try).
//
//   word   | meaning                                              | written by
//   tail   | last node of the queue; null when there is none      | arriving threads; the last
//          |                                                      | one that leaves or unlocks
//   holder | the holder's node                                    | the holder, while inside
//
//   next of a node | meaning                                           | set by
//   null           | no thread is behind, or it has left again         | its owner; the one behind
//   a node         | the thread behind waits on its own status         | that thread
//   available      | the owner has unlocked                            | the owner, once
//   leaving        | the owner has left; `before` is the node before   | the owner, once
//   transient      | the same, but the thread before will write here   | the owner, once
//
//   status of a node | meaning                                    | set by
//   waiting          | the thread before has not left or unlocked | the owner
//   available, leaving, transient | the mark of the node before   | the thread before, once
//   recycled         | the owner and the thread behind have left: | the thread behind
//                    | the thread before is to free the node      |
//
// The queue may end in nodes that were left behind, of which the last is
// available: then the lock is free. The next thread frees them, and so does the destructor.
//
// Invariants
//   ORDER      the queue is in the order of the exchanges on tail, less those that left.
//   ONE-SWAP   an owner marks its node by an exchange on next, and the thread behind links
//              itself by one: either the owner finds the thread behind, and sets its status, or
//              that thread finds the mark.
//   TAKEN-AWAY a node that its owner has marked is freed by the next thread that finds the mark,
//              or, where the thread before has yet to write into it, by the second of those two.
//   NO-ABA     the owner compares tail with its node only before it marks it: no other thread
//              may have freed and reused the node then. The published lock compares afterwards,
//              which needs nodes that no other thread ever reuses.
//
// In the published lock a thread leaves at its deadline even among nodes that others left; here
// it frees those first, each in one step.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "lockwright/lock.hpp"

namespace lockwright {

template <class Env>
class mcs_try {
  struct alignas(64) node;
  using link = typename Env::template atomic<node*>;

  struct alignas(64) node {
    link next{};
    typename Env::template atomic<std::uint32_t> status{};
    typename Env::template plain<node*> before{};
  };

 public:
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .fifo = true,
      .node_bytes = sizeof(node),
      .suits = {{{use_case::high_contention, 6, "every thread polls a place of its own"}}},
      .reference = "Scott, PODC 2002",
      .summary =
          "A queue in which every thread polls a flag of its own, and which a thread can leave at "
          "its deadline without waiting for others. First come, first served; collapses when "
          "threads outnumber cores."};

  constexpr mcs_try() = default;
  mcs_try(const mcs_try&) = delete;
  mcs_try& operator=(const mcs_try&) = delete;

  // constexpr, so that locks are initialised statically; see lazy_part.
  constexpr ~mcs_try() {
    if (!std::is_constant_evaluated()) {
      free_left_nodes();
    }
  }

  arrival lock() {
    node* before = nullptr;
    node* me = enqueue(before);
    arrival found = arrival::uncontended;
    if (before != nullptr) {
      wait(me, before, [&found] {
        found = arrival::contended;
        Env::relax();
        return true;
      });
    }
    holder_ = me;
    return found;
  }

  /// Queues, and leaves at once if a thread is before it: as the queue may end in nodes that were
  /// left behind, only a queued thread can find whether the lock is free.
  bool try_lock() {
    return take_if([] { return false; });
  }

  bool try_lock_until(std::uint64_t deadline) {
    return take_if([deadline] {
      Env::relax();
      return Env::now() < deadline;
    });
  }

  void unlock() {
    node* me = holder_;
    if (!leave_as_last(me, nullptr)) {
      mark_and_set(me, mark(available_), available_);
    }
  }

 private:
  static constexpr std::uint32_t waiting_ = 0;
  static constexpr std::uint32_t available_ = 1;
  static constexpr std::uint32_t leaving_ = 2;
  static constexpr std::uint32_t transient_ = 3;
  static constexpr std::uint32_t recycled_ = 4;

  /// The marks that `next` holds for the node itself: never an address.
  static node* mark(std::uint32_t what) {
    return reinterpret_cast<node*>(static_cast<std::uintptr_t>(what));
  }

  node* enqueue(node*& before) {
    node* me = Env::template take_node<node>();
    me->next.store(nullptr, std::memory_order_relaxed);
    me->status.store(waiting_, std::memory_order_relaxed);
    // Release publishes the node; acquire pairs with the release in
    // leave_as_last(), and with others' exchanges here.
    before = tail_.exchange(me, std::memory_order_acq_rel);
    return me;
  }

  template <class Continues>
  bool take_if(Continues continues) {
    node* before = nullptr;
    node* me = enqueue(before);
    if (before != nullptr && !wait(me, before, continues)) {
      return false;
    }
    holder_ = me;
    return true;
  }

  /// Returns true once the caller holds the lock; false if `continues()` returned false,
  /// and then `me` is out of the queue, or is removed by others.
  template <class Continues>
  [[gnu::noinline]] bool wait(node* me, node* before, Continues continues) {
    for (;;) {
      // Release publishes the caller's writes to its own node. Acquire, as
      // that of status below, pairs with the release of the owner's exchange in
      // mark_and_set(), and so with the section that it ends.
      const auto word =
          reinterpret_cast<std::uintptr_t>(before->next.exchange(me, std::memory_order_acq_rel));
      std::uint32_t status = static_cast<std::uint32_t>(word);
      if (word == 0) {
        while ((status = me->status.load(std::memory_order_acquire)) == waiting_) {
          if (!continues()) {
            leave(me, before);
            return false;
          }
        }
        me->status.store(waiting_, std::memory_order_relaxed);
      }
      if (status == available_) {
        Env::give_node(before);
        return true;
      }
      node* further = before->before;
      free_left_node(before, status);
      before = further;
    }
  }

  /// Frees a node that its owner has left. If the owner of the node before has yet to write
  /// into it, that owner finds `recycled` and frees it.
  static void free_left_node(node* left, std::uint32_t status) {
    // Release: the caller has finished with it. Acquire: so has the owner of the node before.
    if (status == leaving_ ||
        left->status.exchange(recycled_, std::memory_order_acq_rel) != waiting_) {
      Env::give_node(left);
    }
  }

  void leave(node* me, node* before) {
    me->before = before;
    node* mine = me;
    // Relaxed: the thread that frees that node reads what this thread releases next.
    if (!before->next.compare_exchange_strong(mine, nullptr, std::memory_order_relaxed,
                                              std::memory_order_relaxed)) {
      // The thread before has marked its node, has found this one, and will write into it.
      mark_and_set(me, mark(transient_), transient_);
    } else if (!leave_as_last(me, before)) {
      mark_and_set(me, mark(leaving_), leaving_);
    }
  }

  /// Makes `before` the last of the queue, if `me` is. Release pairs with the
  /// exchange in enqueue(), and with the acquire here: the thread that left from behind
  /// this node has finished with it.
  bool leave_as_last(node* me, node* before) {
    node* last = me;
    if (me->next.load(std::memory_order_relaxed) != nullptr ||
        !tail_.compare_exchange_strong(last, before, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
      return false;
    }
    Env::give_node(me);
    return true;
  }

  /// The owner's last write. From here on the node belongs to the next thread, and the
  /// lock may be destroyed.
  static void mark_and_set(node* me, node* word, std::uint32_t status) {
    node* behind = me->next.exchange(word, std::memory_order_acq_rel);
    if (behind != nullptr &&
        behind->status.exchange(status, std::memory_order_acq_rel) == recycled_) {
      // Its owner has left, and the thread behind has found the mark above.
      Env::give_node(behind);
    }
  }

  /// Called by the destructor: no other thread uses the lock.
  void free_left_nodes() {
    node* left = tail_.load(std::memory_order_relaxed);
    while (left != nullptr) {
      const auto status = static_cast<std::uint32_t>(
          reinterpret_cast<std::uintptr_t>(left->next.load(std::memory_order_acquire)));
      if (status == available_) {
        Env::give_node(left);
        return;
      }
      node* further = left->before;
      free_left_node(left, status);
      left = further;
    }
  }

  link tail_{};
  typename Env::template plain<node*> holder_{};
};

}  // namespace lockwright
