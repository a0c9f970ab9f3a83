// clh: an implicit queue in which a thread polls its predecessor's node, and recycles that
// node when it enters. FIFO, with local polling, and no link for which an unlock has to wait.
//
// Citation: T. S. Craig, "Building FIFO and Priority-Queuing Spin Locks from
// Atomic Swap", Univ. of Washington TR 93-02-02, 1993; P. Magnusson, A. Landin,
// E. Hagersten, "Queue Locks on Cache Coherent Multiprocessors", IPPS 1994.
// The waiting policy is a parameter: clh-spin polls, clh-stp polls and parks.
//
//   word   | meaning                                | written by
//   tail   | last node of the queue, null when free | arriving threads; the last holder
//   holder | the holder's node                      | the holder, while inside
//
//   node   | cell: granted to the thread behind when this node's owner has unlocked
//          | behind: the node of the thread behind, if that may leave at a deadline
//
// The published lock starts with a dummy node that is already released, and
// leaves one behind when the queue runs empty. Here null stands for that dummy:
// zeroed memory is then an unlocked lock, an idle lock owns no node, and a
// trylock has a value to compare with that no recycled node can imitate. The
// price is a compare-and-swap in an unlock that no thread waits for.
//
// Invariants
//   ORDER      the queue is in the order of the exchanges on tail.
//   ONE-WATCHER  at most one thread, the successor, ever reads a node, and
//              it alone recycles it, after its acquire read the grant.
//              If it has left at a deadline, the thread before it recycles the node
//              and unlocks in its place.
//   NULL-IS-FREE  tail is null exactly while no thread holds or awaits the lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/wait.hpp"

namespace lockwright {

template <class Env, template <class> class Wait>
class clh {
  struct alignas(64) node {
    Wait<Env> cell;
    typename Env::template plain<node*> behind{};
  };

 public:
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = Wait<Env>::policy,
      .realtime = own_order_unless_polling(Wait<Env>::policy),
      .fifo = true,
      .node_bytes = sizeof(node),
      .suits =
          Wait<Env>::policy == waiting::spin
              ? suit_list{{{use_case::high_contention, 5, "every thread polls a place of its own"}}}
              : suit_list{{{use_case::crowded, 20,
                            "parks, but the next in line is the one most likely asleep"}}},
      .reference = "Craig, UW TR 93-02-02, 1993; Magnusson, Landin and Hagersten, IPPS 1994",
      .summary =
          Wait<Env>::policy == waiting::spin
              ? "A queue in which every thread polls its predecessor's node and takes it over "
                "afterwards. First come, first served, with little traffic; collapses when "
                "threads outnumber cores."
              : "A queue in which every thread waits on its predecessor's node, first polling "
                "and then asleep. First come, first served; the next in line is the one most "
                "likely asleep."};

  static constexpr auto tunables = Wait<Env>::tunables;

  arrival lock() {
    node* me = Env::template take_node<node>();
    me->cell.arm();
    // Release publishes the armed cell to the successor's exchange; acquire
    // pairs with the release in unlock() that emptied the queue, and with the
    // predecessor's exchange before its cell is read.
    node* before = tail_.exchange(me, std::memory_order_acq_rel);
    if (before == nullptr) {
      holder_ = me;
      return arrival::uncontended;
    }
    wait_for(before);
    holder_ = me;
    return arrival::contended;
  }

  bool try_lock_until(std::uint64_t deadline)
    requires LeavableWait<Wait<Env>>
  {
    node* me = Env::template take_node<node>();
    me->cell.arm();
    // As in lock().
    if (node* before = tail_.exchange(me, std::memory_order_acq_rel); before != nullptr) {
      before->behind = me;
      if (!before->cell.wait_until(deadline)) {
        return false;
      }
      Env::give_node(before);
    }
    holder_ = me;
    return true;
  }

  /// The study had no trylock for this lock; with null for the dummy one
  /// compare-and-swap is enough, and it never waits.
  bool try_lock() {
    if (tail_.load(std::memory_order_relaxed) != nullptr) {
      return false;
    }
    node* me = Env::template take_node<node>();
    me->cell.arm();
    node* empty = nullptr;
    if (tail_.compare_exchange_strong(empty, me, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      holder_ = me;
      return true;
    }
    Env::give_node(me);
    return false;
  }

  void unlock() {
    for (node* me = holder_;;) {
      node* last = me;
      // Release pairs with the acquire in lock() and try_lock() that finds null.
      if (tail_.load(std::memory_order_relaxed) == me &&
          tail_.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                        std::memory_order_relaxed)) {
        Env::give_node(me);
        return;
      }
      // From here on the node is the successor's, unless that has left.
      if (me->cell.grant()) {
        return;
      }
      node* behind = me->behind;
      Env::give_node(me);
      me = behind;
    }
  }

 private:
  [[gnu::noinline]] static void wait_for(node* before) {
    before->cell.wait();
    Env::give_node(before);
  }

  typename Env::template atomic<node*> tail_{};
  typename Env::template plain<node*> holder_{};
};

}  // namespace lockwright
