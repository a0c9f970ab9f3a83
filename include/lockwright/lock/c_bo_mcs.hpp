// c-bo-mcs: a cohort lock whose global lock is test-and-set with backoff and whose local locks
// are MCS queues. FIFO within a NUMA node, a race between the nodes.
//
// Citation: D. Dice, V. J. Marathe, N. Shavit, "Lock Cohorting: A General Technique for Designing
// NUMA Locks", PPoPP 2012 and ACM TOPC 1(2), 2015. The waiting policy of the queues is a parameter:
// c-bo-mcs-spin polls, c-bo-mcs-stp polls and parks. The first thread of a node polls in both while
// it waits for the global lock, with backoff. As the node that releases the global lock may take it
// again, without bound, a thread with a deadline may never be admitted: for mutexes the libraries do
// not use try_lock_until() (see is_abortable).
//
// cohort.hpp describes the composition, its words and its invariants. Its parts are the locks
// mcs and backoff.
#pragma once

#include "lockwright/lock.hpp"
#include "lockwright/lock/backoff.hpp"
#include "lockwright/lock/mcs.hpp"
#include "lockwright/parts/cohort.hpp"

namespace lockwright {

template <class Env, template <class> class Wait>
class c_bo_mcs : public cohort<Env, backoff<Env>, mcs<Env, Wait>> {
 public:
  static constexpr lock_traits traits{
      .category = category::hierarchical,
      .waiting = Wait<Env>::policy,
      .realtime = own_order_unless_polling(Wait<Env>::policy),
      .numa_aware = true,
      .hardened_trylock = true,
      .node_bytes = mcs<Env, Wait>::traits.node_bytes,
      .suits = Wait<Env>::policy == waiting::spin
                   ? suit_list{{{use_case::trylock_loop, 1,
                                 "its trylock takes long, 170 cycles (TOCS 2019)"},
                                {use_case::extreme_contention, 3,
                                 "among the best with all threads (TOCS 2019)"}}}
                   : suit_list{{{use_case::crowded, 15, "hierarchical, and parks"}}},
      .patents = "US 8,694,706 (cohort locks)",
      .reference = "Dice, Marathe and Shavit, PPoPP 2012",
      .summary =
          Wait<Env>::policy == waiting::spin
              ? "An MCS queue per NUMA node below a test-and-set lock with backoff, passing the "
                "lock on within a node up to a bound. Made for machines with several nodes; unfair "
                "between them."
              : "A parking MCS queue per NUMA node below a test-and-set lock with backoff, passing "
                "the lock on within a node up to a bound. Made for machines with several nodes; "
                "unfair between them."};
};

}  // namespace lockwright
