// qspinlock: one word with a held bit, a bit for a first, pending waiter, and the tail of an MCS
// queue of the others. A single waiter polls that word without a queue node.
//
// Citation: W. Long, P. Zijlstra, "qspinlock: a 4-byte queue spinlock with PV support", Linux 4.2,
// 2015; Linux kernel, kernel/locking/qspinlock.c. Adapted to user space: the tail is a node's
// address instead of a processor's number, so the word has 64 bits.
//
//   bits of word | meaning                                        | changed by
//   0 (locked)   | the lock is held                               | see below
//   1 (pending)  | a thread waits for `locked` to clear, ahead of | that thread
//                | the queue                                      |
//   6-63 (tail)  | address of the last node of the queue, 0 for   | arriving threads; the
//                | none; nodes are aligned to 64 bytes            | first of the queue
//
//   (tail, pending, locked)
//   free       (0,0,0) --lock--> (0,0,1) --unlock--> (0,0,0)
//   pending    (0,0,1) ---> (0,1,1) --unlock--> (0,1,0) ---> (0,0,1)
//   queue      (*,*,1) ---> (n,*,1) --unlock--> (n,0,0) ---> (0,0,1) if n is the last
//                                                       ---> (n,0,1) else
//
// The kernel unlocks by a store to the byte that holds `locked`. Here that byte is also part of the
// tail, so unlock subtracts, as the kernel's first generic version did.
//
// Invariants
//   QUEUE-LAST a thread stays `pending` only if it finds no tail, and takes the free lock at
//              once only if it finds the word 0, so no thread overtakes the queue.
//   FIRST-COMPETES  of the queue only the first waits for `locked` and `pending`.
//   LINK       a node that is not the last gets its next pointer in a bounded
//              number of its successor's steps.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/await_link.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class qspinlock {
  struct alignas(64) node {
    typename Env::template atomic<node*> next{};
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
      .reference = "Long and Zijlstra, Linux 4.2, 2015",
      .summary =
          "The Linux kernel's spinlock: one word, on which the first waiter polls, while those "
          "behind it queue as in MCS. First come, first served and light; collapses when threads "
          "outnumber cores."};

  static constexpr tunable pending_polls{.name = "pending-polls",
                                         .default_value = 512,
                                         .counted_in = unit::count,
                                         .min = 0,
                                         .max = 1u << 30,
                                         .model_value = 1,
                                         .meaning =
                                             "how often a thread polls before it queues, if the "
                                             "lock is about to pass to the pending waiter",
                                         .source = "Linux on x86 (_Q_PENDING_LOOPS)"};
  /// With fewer threads no thread joins a queue while its first takes the lock with another behind.
  static constexpr std::uint32_t checked_threads = 4;
  static constexpr tunable_list<1> tunables{&pending_polls};

  arrival lock() {
    if (try_lock()) {
      return arrival::uncontended;
    }
    if (!take_as_pending()) {
      queue_and_take();
    }
    return arrival::contended;
  }

  bool try_lock() {
    std::uint64_t free = 0;
    // Acquire pairs with the release in unlock().
    return word_.load(std::memory_order_relaxed) == 0 &&
           word_.compare_exchange_strong(free, locked_, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  void unlock() { word_.fetch_sub(locked_, std::memory_order_release); }

 private:
  static constexpr std::uint64_t locked_ = 1;
  static constexpr std::uint64_t pending_ = 2;
  static constexpr std::uint64_t tail_ = ~std::uint64_t{63};

  static std::uint64_t tail_of(node* n) { return reinterpret_cast<std::uintptr_t>(n); }
  static node* node_of(std::uint64_t word) { return reinterpret_cast<node*>(word & tail_); }

  /// False if another thread is waiting already.
  [[gnu::noinline]] bool take_as_pending() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (std::uint64_t polls = Env::template value<pending_polls>(); seen == pending_ && polls != 0;
         --polls) {
      Env::relax();
      seen = word_.load(std::memory_order_relaxed);
    }
    if ((seen & ~locked_) != 0) {
      return false;
    }
    seen = word_.fetch_or(pending_, std::memory_order_relaxed);
    if ((seen & ~locked_) != 0) {
      if ((seen & pending_) == 0) {
        word_.fetch_and(~pending_, std::memory_order_relaxed);
      }
      return false;
    }
    // Acquire pairs with the release in unlock().
    while ((word_.load(std::memory_order_acquire) & locked_) != 0) {
      Env::relax();
    }
    // Relaxed: the lock has been acquired. From pending to locked in one step.
    word_.fetch_sub(pending_ - locked_, std::memory_order_relaxed);
    return true;
  }

  [[gnu::noinline]] void queue_and_take() {
    node* me = Env::template take_node<node>();
    me->next.store(nullptr, std::memory_order_relaxed);
    me->cell.arm();
    if (!try_lock()) {
      if (node* before = node_of(exchange_tail(*me))) {
        // Release pairs with the acquire of next in take_as_first().
        before->next.store(me, std::memory_order_release);
        me->cell.wait();
      }
      take_as_first(*me);
    }
    Env::give_node(me);
  }

  /// Appends the node to the queue. Returns the previous word.
  std::uint64_t exchange_tail(node& me) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    // Release publishes the node; acquire pairs with that of the node before.
    while (!word_.compare_exchange_strong(seen, (seen & ~tail_) | tail_of(&me),
                                          std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    return seen;
  }

  void take_as_first(node& me) {
    std::uint64_t seen = 0;
    // Acquire pairs with the release in unlock().
    while (((seen = word_.load(std::memory_order_acquire)) & (locked_ | pending_)) != 0) {
      Env::relax();
    }
    // Relaxed, here and below: the lock has been acquired.
    if ((seen & tail_) == tail_of(&me) &&
        word_.compare_exchange_strong(seen, locked_, std::memory_order_relaxed,
                                      std::memory_order_relaxed)) {
      return;
    }
    // A thread is behind, or has just set `pending` and will find a tail and come behind.
    word_.fetch_add(locked_, std::memory_order_relaxed);
    await_link<spin_wait<Env>>(me.next)->cell.grant();
  }

  typename Env::template atomic<std::uint64_t> word_{};
};

}  // namespace lockwright
