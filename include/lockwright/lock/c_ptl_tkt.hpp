// c-ptl-tkt: a cohort lock of a partitioned ticket lock over one ticket lock per
// NUMA node, so that a release disturbs no other node than the next one.
//
// Citation: D. Dice, V. J. Marathe, N. Shavit, "Lock Cohorting: A General
// Technique for Designing NUMA Locks", PPoPP 2012 and ACM TOPC 1(2), 2015.
//
// cohort.hpp describes the composition, its words and its invariants. Its parts are the locks
// ticket and partitioned, the latter's serving words in the same memory. The study's trylock
// draws a number of the global lock and may then have to wait; here the number is drawn only if
// it is being served (see spread_tickets).
#pragma once

#include "lockwright/lock.hpp"
#include "lockwright/lock/partitioned.hpp"
#include "lockwright/lock/ticket.hpp"
#include "lockwright/parts/cohort.hpp"
#include "lockwright/parts/spread_tickets.hpp"

namespace lockwright {

template <class Env>
class c_ptl_tkt : public cohort<Env, with_part<partitioned<Env>>, ticket<Env>> {
 public:
  static constexpr lock_traits traits{
      .category = category::hierarchical,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .numa_aware = true,
      .hardened_trylock = true,
      .suits = {{{use_case::trylock_loop, 5, "its trylock takes two levels"},
                 {use_case::extreme_contention, 4, "among the best with all threads (TOCS 2019)"}}},
      .patents = "US 8,694,706 (cohort locks)",
      .reference = "Dice, Marathe and Shavit, PPoPP 2012",
      .summary =
          "A ticket lock per NUMA node below a partitioned ticket lock of the nodes, passing the "
          "lock on within a node up to a bound. Made for machines with several nodes; collapses "
          "when threads outnumber cores."};
};

}  // namespace lockwright
