// fissile: a test-and-set lock whose contenders queue in a CNA lock first. Only
// the one that holds the inner lock competes with arriving threads for the
// outer one; when that takes too long, the outer lock is handed to it.
//
// Citation: D. Dice, A. Kogan, "Fissile Locks", NETYS 2020.
//
//   word      | value | meaning                                | changed by
//   outer     | 0     | free                                   | the holder, in unlock()
//             | 1     | held                                   | its new holder
//             | 2     | handed over to the inner lock's holder | the holder, in unlock()
//   impatient | 0     | arriving threads may overtake          | the inner lock's holder
//             | 2     | the value that unlock stores in outer  | the inner lock's holder
//   inner     | the queues of a CNA lock                       | see cna
//
// The inner lock is released before lock() returns, so no node stays in use from lock to unlock.
// While its holder waits for the outer lock it chooses its successor, as CNA does at a handover.
//
// Invariants
//   ONE-COMPETES  of the queued threads only the holder of the inner lock tries
//              to take the outer one.
//   FROM-2     arriving threads take the outer lock only from 0; from 2 it is
//              taken by the inner lock's holder alone.
//   PATIENCE   the inner lock's holder lets others overtake it for at most
//              `patience` polls, and then the holders of that moment.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/lock/cna.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class fissile {
  using queue = cna_queue<Env>;
  using node = typename queue::node;

 public:
  static constexpr lock_traits traits{
      .category = category::hierarchical,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .light = true,
      .numa_aware = true,
      .node_bytes = sizeof(node),
      .atomics = {.lock = 1, .unlock = 0},
      .suits = {{{use_case::extreme_contention, 8, "hands over within a node, in two words"}}},
      .patents = "none found for the lock; its slow path is CNA: US 10,949,264",
      .reference = "Dice and Kogan, NETYS 2020",
      .summary =
          "Test-and-set for arriving threads, with a CNA queue for those that do not get it at "
          "once; a waiter too long at its head is handed the lock. Light when uncontended, and "
          "NUMA-aware under contention."};

  static constexpr tunable patience{
      .name = "patience",
      .default_value = 1000,
      .counted_in = unit::count,
      .min = 0,
      .max = 1u << 30,
      .model_value = 1,
      .meaning =
          "how often the first of the queue finds the lock held before it is handed the lock",
      .source = "several lengths of a short section; its authors leave it open"};
  /// With fewer threads no thread in the queue is set aside.
  static constexpr std::uint32_t checked_threads = 4;
  static constexpr auto tunables = join(queue::tunables, tunable_list<1>{&patience});

  arrival lock() {
    if (try_lock()) [[likely]] {
      return arrival::uncontended;
    }
    queue_and_take();
    return arrival::contended;
  }

  bool try_lock() {
    std::uint32_t free = free_;
    // Acquire pairs with the release in unlock().
    return outer_.load(std::memory_order_relaxed) == free &&
           outer_.compare_exchange_strong(free, held_, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  void unlock() {
    // Relaxed: an unlock has to read it some time, in any order.
    outer_.store(impatient_.load(std::memory_order_relaxed), std::memory_order_release);
  }

 private:
  [[gnu::noinline]] void queue_and_take() {
    node* me = Env::template take_node<node>();
    inner_.enter(*me);
    inner_.choose_ahead(*me);
    take_outer();
    inner_.leave_to_chosen(*me);
    Env::give_node(me);
  }

  void take_outer() {
    for (std::uint64_t polls = Env::template value<patience>(); polls != 0; --polls) {
      if (try_lock()) {
        return;
      }
      Env::relax();
    }
    impatient_.store(handed_over_, std::memory_order_relaxed);
    // Acquire pairs with the release in unlock(), as in try_lock(). The
    // exchange is tried only when it succeeds: no other thread takes a 2, but an
    // unlock that did not see the impatience yet leaves 0 for any thread.
    while (outer_.load(std::memory_order_relaxed) == held_ ||
           outer_.exchange(held_, std::memory_order_acquire) == held_) {
      Env::relax();
    }
    impatient_.store(patient_, std::memory_order_relaxed);
  }

  static constexpr std::uint32_t free_ = 0;
  static constexpr std::uint32_t held_ = 1;
  static constexpr std::uint32_t handed_over_ = 2;
  static constexpr std::uint32_t patient_ = free_;

  typename Env::template atomic<std::uint32_t> outer_{};
  typename Env::template atomic<std::uint32_t> impatient_{};
  queue inner_;
};

}  // namespace lockwright
