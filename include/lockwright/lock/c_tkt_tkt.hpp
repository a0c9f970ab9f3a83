// c-tkt-tkt: a cohort lock made of ticket locks, one per NUMA node and one for all of them.
//
// Citation: D. Dice, V. J. Marathe, N. Shavit, "Lock Cohorting: A General
// Technique for Designing NUMA Locks", PPoPP 2012 and ACM TOPC 1(2), 2015.
//
// cohort.hpp describes the composition, its words and its invariants. Both parts are the lock
// `ticket`.
#pragma once

#include "lockwright/lock.hpp"
#include "lockwright/lock/ticket.hpp"
#include "lockwright/parts/cohort.hpp"

namespace lockwright {

template <class Env>
class c_tkt_tkt : public cohort<Env, ticket<Env>, ticket<Env>> {
 public:
  static constexpr lock_traits traits{
      .category = category::hierarchical,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .numa_aware = true,
      .hardened_trylock = true,
      .suits = {{{use_case::trylock_loop, 4, "its trylock takes two levels"},
                 {use_case::extreme_contention, 2, "among the best with all threads (TOCS 2019)"},
                 {use_case::high_contention, 8,
                  "among the best with the best number of nodes (TOCS 2019)"}}},
      .patents = "US 8,694,706 (cohort locks)",
      .reference = "Dice, Marathe and Shavit, PPoPP 2012",
      .summary =
          "A ticket lock per NUMA node below a ticket lock of the nodes, passing the lock on "
          "within a node up to a bound. Made for machines with several nodes; collapses when "
          "threads outnumber cores."};
};

}  // namespace lockwright
