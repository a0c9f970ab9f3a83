// partitioned: a ticket lock whose "now serving" number is spread over several words, one cache
// line each, so that a release disturbs only the waiters of one word. FIFO.
//
// Citation: D. Dice, "Brief Announcement: A Partitioned Ticket Lock", SPAA 2011.
//
// There is one serving word per NUMA node. See spread_tickets.hpp for the words and the invariants.
#pragma once

#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/outside.hpp"
#include "lockwright/parts/spread_tickets.hpp"

namespace lockwright {

template <class Env>
struct word_per_node {
  static std::uint32_t of() { return Env::nodes(); }
};

template <class Env>
struct pausing_poll {
  static void step(const void*) { Env::relax(); }
};

template <class Env>
class partitioned
    : public spread_tickets<Env, serving_words<Env, word_per_node<Env>>, pausing_poll<Env>> {
 public:
  // A trylock is two loads and one compare-and-swap and never waits,
  // unlike the study's, so it needs no hardening.
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .fifo = true,
      .light = true,
      .atomics = {.lock = 1, .unlock = 0},
      .reference = "Dice, SPAA 2011",
      .summary =
          "A ticket lock with one serving word per NUMA node, so that a release disturbs only "
          "some of the waiters. First come, first served; collapses when threads outnumber "
          "cores."};
};

}  // namespace lockwright
