// malth: an MCS queue that keeps few threads in circulation. An unlock that finds more
// waiters than the lock needs moves one to the passive set; one that finds none recalls
// one, and by chance the oldest one is next.
//
// Citation: D. Dice, "Malthusian Locks", EuroSys 2017 (MCSCR). The waiting policy is a parameter:
// malth-spin (MCSCR-S) polls, malth-stp (MCSCR-STP) polls and parks.
//
//   word   | meaning                                    | written by
//   tail   | last node of the queue; the lock is held   | arriving threads
//          | null: free, and no thread waits            | the last holder
//          | passive set, tagged free_: free, and       | the last holder
//          | the thread that takes it takes the set too |
//   holder | the holder's node                          | the holder, while inside
//
//   node    | meaning
//   next    | the node behind
//   older,  | the adjacent nodes in the passive set
//   younger |
//   passive | in the holder's node: the passive set, tagged recalled_ while a
//           | thread that was recalled has not been inside
//   cell    | granted: the lock, or a recall
//   grant   | which of them
//   rank    | how its owner came to the queue: arrived, recalled, or favoured
//
// Locking is that of MCS, as published, except for the recall. In unlock, in this order:
//   fairness  one time in `fairness` the oldest of the passive set comes next
//   cull      a node between the holder and the last one goes to the set
//   deficit   with no thread in the queue, the youngest of the set comes next
//
// A handover to a sleeper leaves the lock unused for as long as a wake takes, and threads that
// arrive meanwhile fall asleep too, so that the next handover is to a sleeper again. With fewer
// processors than would saturate the lock this never ends. So malth-stp does not hand the lock to a
// sleeping thread: it moves that thread to the passive set, and recalls it when it is next, which
// is the paper's anticipatory warm-up: the thread is woken and queues again, while the lock goes to
// a thread that is awake, or becomes free. A thread that was favoured by chance remains in the
// queue, asleep or not. Handovers to polling waiters, so all of malth-spin's, are as published.
//
// Invariants
//   EXCLUSION  the lock belongs to the owner of the first node of the queue.
//   OWN-NODE   a node is in the queue, in the passive set or recalled from its
//              first exchange on tail until its owner's unlock.
//   HEIR       when the lock becomes free with a passive set, a recalled thread
//              is on its way to it.
//   LINK       a node that is not the last gets its next pointer in a bounded
//              number of its successor's steps.
#pragma once

#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/flagged.hpp"
#include "lockwright/parts/mcscr.hpp"
#include "lockwright/parts/passive_set.hpp"
#include "lockwright/parts/wait.hpp"

namespace lockwright {

/// The policy of malth: one passive set, stored as a pointer in the holder's node or in the
/// tail of a free lock.
template <class Env, class Node>
class one_set {
  using flag = flagged<Node>;

 public:
  struct fields {
    typename Env::template plain<Node*> passive{};
  };

  bool recalled;

  explicit one_set(const Node& holder)
      : recalled(flag::has(holder.passive, recalled_)), set_(flag::pointer(holder.passive)) {}

  static bool none(const Node& holder) { return holder.passive == nullptr; }
  static bool is_free(Node* tail) { return tail == nullptr || flag::has(tail, free_); }
  static void arrives(Node&) {}
  static void taken_over(Node& me, Node* tail) {
    me.passive = flag::make(flag::pointer(tail), flag::flags(tail) & ~free_);
  }
  void leave_to(Node& next) const { next.passive = held(); }
  /// Null with no thread in the set: a recalled thread needs no record.
  [[nodiscard]] Node* left_free() const { return empty() ? nullptr : flag::make(held(), free_); }

  [[nodiscard]] bool empty() const { return set_.empty(); }
  [[nodiscard]] Node* by_chance() const { return set_.oldest(); }
  [[nodiscard]] Node* next() const { return set_.youngest(); }
  void take(Node* waiter) { set_.take(waiter); }
  void put(Node* waiter) { set_.put(waiter); }
  /// No thread is preferred to another.
  static bool displaces(Node*, bool, bool (*)(Node*)) { return false; }

 private:
  static constexpr std::uintptr_t free_ = 1;
  static constexpr std::uintptr_t recalled_ = 2;

  /// The set as stored in the holder's node.
  [[nodiscard]] Node* held() const { return flag::make(set_.youngest(), recalled ? recalled_ : 0); }

  passive_set<Node> set_;
};

template <class Env, template <class> class Wait>
class malth : public mcscr<Env, Wait, one_set> {
 public:
  static constexpr lock_traits traits{
      .category = category::load_control,
      .waiting = Wait<Env>::policy,
      .realtime = own_order_unless_polling(Wait<Env>::policy),
      .node_bytes = malth::mcscr::node_bytes,
      .low_traffic = true,
      .suits = Wait<Env>::policy == waiting::spin
                   ? suit_list{{{use_case::memory_contention, 1,
                                 "keeps few threads in circulation, which spares the caches (TOCS "
                                 "2019, figure 7)"},
                                {use_case::high_contention, 3, "keeps few threads in circulation"}}}
                   : suit_list{{{use_case::crowded, 1,
                                 "advised first where threads outnumber processors (TOCS 2019, "
                                 "figure 7)"},
                                {use_case::memory_contention, 2,
                                 "keeps few threads in circulation, which spares the caches (TOCS "
                                 "2019, figure 7)"}}},
      .patents = "US 11,314,562 and 12,182,636 (concurrency restriction)",
      .reference = "Dice, EuroSys 2017",
      .summary =
          Wait<Env>::policy == waiting::spin
              ? "An MCS queue whose unlock moves surplus waiters aside and takes them back when "
                "the queue runs empty, the oldest first once in a while. Few threads circulate, "
                "which spares caches; all of them poll."
              : "An MCS queue whose unlock moves surplus and sleeping waiters aside and recalls "
                "them when the queue runs empty, the oldest first once in a while. Few threads "
                "circulate and the lock goes to those that are awake, so it survives "
                "over-subscription."};
};

}  // namespace lockwright
