// mcscrn: malth for machines with several NUMA nodes. The threads that circulate are of one
// node, the home; those of other nodes wait in the remote list, and from time to time another
// node becomes the home.
//
// Citation: D. Dice, "Malthusian Locks", EuroSys 2017 (MCSCRN).
//
//   word, node | as in malth, and beside the passive set:
//   remote  | in the holder's node: the waiters of other nodes that were culled
//   home    | in the holder's node: the NUMA node whose threads circulate
//   numa    | the NUMA node of this node's owner
//   When the lock is free, tail points to a member of one of the sets, whose node
//   has these fields instead of the holder's.
//
// As malth, with these differences in unlock:
//   fairness  where remote threads wait, the NUMA node of the oldest of them
//             becomes the home, and that thread comes next
//   cull      each remote waiter goes to the remote list if a home waiter can come next
//   deficit   with no thread in the queue or the passive set, the NUMA node of the
//             oldest remote waiter becomes the home
// The paper drains the new home's threads into the queue, from where they would be culled one by
// one; here they go to the passive set at once, and the old home's to the remote list. It gives no
// period for the change of the home; here it is the fairness period. Waiters poll and then park.
//
// Invariants
//   as in malth, and
//   AT-HOME    the passive set holds threads of the home only, and the remote list none of them.
#pragma once

#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/flagged.hpp"
#include "lockwright/parts/mcscr.hpp"
#include "lockwright/parts/passive_set.hpp"
#include "lockwright/parts/wait.hpp"

namespace lockwright {

/// The policy of mcscrn: a passive set of threads of the home, and the remote list.
template <class Env, class Node>
class by_numa_node {
  using flag = flagged<Node>;

 public:
  struct fields {
    typename Env::template plain<Node*> passive{};
    typename Env::template plain<Node*> remote{};
    typename Env::template plain<std::uint32_t> home{};
    typename Env::template plain<std::uint32_t> numa{};
    typename Env::template plain<bool> recalled{};
  };

  bool recalled;

  explicit by_numa_node(const Node& holder)
      : recalled(holder.recalled),
        passive_(static_cast<Node*>(holder.passive)),
        remote_(static_cast<Node*>(holder.remote)),
        home_(holder.home) {}

  static bool none(const Node& holder) {
    return holder.passive == nullptr && holder.remote == nullptr;
  }
  static bool is_free(Node* tail) { return tail == nullptr || flag::has(tail, free_); }
  static void arrives(Node& me) { me.numa = Env::node(); }

  static void taken_over(Node& me, Node* tail) {
    if (tail == nullptr) {
      me.passive = nullptr;
      me.remote = nullptr;
      me.home = me.numa;
      me.recalled = false;
    } else {
      by_numa_node(*flag::pointer(tail)).leave_to(me);
    }
  }

  void leave_to(Node& next) const {
    next.passive = passive_.youngest();
    next.remote = remote_.youngest();
    next.home = home_;
    next.recalled = recalled;
  }

  [[nodiscard]] Node* left_free() const {
    if (empty()) {
      return nullptr;
    }
    Node* keeper = passive_.empty() ? remote_.youngest() : passive_.youngest();
    leave_to(*keeper);
    return flag::make(keeper, free_);
  }

  [[nodiscard]] bool empty() const { return passive_.empty() && remote_.empty(); }

  Node* by_chance() {
    if (!remote_.empty()) {
      move_to_node_of(remote_.oldest());
    }
    return passive_.oldest();
  }

  Node* next() {
    if (passive_.empty()) {
      move_to_node_of(remote_.oldest());
    }
    return passive_.youngest();
  }

  /// Removes a thread that by_chance() or next() returned.
  void take(Node* waiter) { passive_.take(waiter); }

  void put(Node* waiter) { (is_remote(waiter) ? remote_ : passive_).put(waiter); }

  /// True if a waiter of the home node, behind `waiter` or in the passive set, is preferred to it.
  bool displaces(Node* waiter, bool last, bool (*sleeps)(Node*)) const {
    return is_remote(waiter) && (!last || (!passive_.empty() && !sleeps(passive_.youngest())));
  }

 private:
  static constexpr std::uintptr_t free_ = 1;

  [[nodiscard]] bool is_remote(Node* waiter) const { return waiter->numa != home_; }

  /// Makes the NUMA node of `waiter` the home, and sorts all passive threads anew, in order of age.
  void move_to_node_of(Node* waiter) {
    home_ = waiter->numa;
    passive_set<Node> home;
    passive_set<Node> others;
    for (passive_set<Node>* from : {&remote_, &passive_}) {
      while (!from->empty()) {
        Node* oldest = from->oldest();
        from->take(oldest);
        (is_remote(oldest) ? others : home).put(oldest);
      }
    }
    passive_ = home;
    remote_ = others;
  }

  passive_set<Node> passive_;
  passive_set<Node> remote_;
  std::uint32_t home_;
};

template <class Env>
class mcscrn : public mcscr<Env, spin_then_park, by_numa_node> {
 public:
  static constexpr lock_traits traits{
      .category = category::load_control,
      .waiting = waiting::spin_then_park,
      .realtime = realtime::own_order,
      .numa_aware = true,
      .node_bytes = mcscrn::mcscr::node_bytes,
      .low_traffic = true,
      .suits = {{{use_case::crowded, 14, "malth-stp for machines with several nodes"}}},
      .patents = "US 11,314,562 and 12,182,636 (concurrency restriction)",
      .reference = "Dice, EuroSys 2017",
      .summary =
          "malth-stp whose few circulating threads are of one NUMA node, which changes once in a "
          "while. For machines with several nodes and more threads than cores."};
};

}  // namespace lockwright
