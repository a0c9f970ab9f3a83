// hticket-ls: libslock's hierarchical ticket lock: one ticket lock per NUMA node
// below one of the nodes, both with proportional waiting.
//
// Citation: T. David, R. Guerraoui, V. Trigonakis, "Everything You Always Wanted to Know About
// Synchronization but Were Afraid to Ask", SOSP 2013 (its library, libslock).
//
// It is c-tkt-tkt with another waiting policy and another bound; cohort.hpp describes the
// composition, its words and its invariants. libslock bounds the passes by the numbers
// themselves: the thread that takes the global lock issues 128 local ones, and a thread that
// finds none left retries later, so that arrival order is lost within a node too. Here the
// passes are counted, as in the other cohort locks. libslock's trylock takes the global lock
// alone and has an extra unlock; here both locks are tried.
#pragma once

#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/lock/ticket.hpp"
#include "lockwright/parts/cohort.hpp"
#include "lockwright/parts/proportional.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

struct hticket_numbers {
  static constexpr tunable batch{
      .name = "batch",
      .default_value = 128,
      .counted_in = unit::count,
      .min = 1,
      .max = std::uint64_t{1} << 32,
      .model_value = 1,
      .meaning = "how often a NUMA node passes the lock on within itself, at most",
      .source = "LiTL (Guerraoui et al., TOCS 2019)"};
  static constexpr tunable between_nodes{
      .name = "between-nodes",
      .default_value = 256,
      .counted_in = unit::turns,
      .min = 0,
      .max = 1u << 20,
      .model_value = 1,
      .meaning = "the delay, at the global lock, for each node that is before the waiter's",
      .source = "libslock"};
};

/// The delays of a waiter for the global lock: constant for each node before its own, and a pause
/// if that is the next.
template <class Env>
struct hticket_global_poller {
  static constexpr tunable_list<1> tunables{&hticket_numbers::between_nodes};

  static void back_off(std::uint32_t before_mine, const void*) {
    if (before_mine == 1) {
      Env::relax();
    } else {
      Env::delay(static_cast<std::uint32_t>(before_mine *
                                            Env::template value<hticket_numbers::between_nodes>()));
    }
  }
};

template <class Env>
class hticket_ls : public cohort<Env, ticket<Env, hticket_global_poller<Env>>,
                                 ticket<Env, proportional_delay<Env, 64>>, hticket_numbers::batch> {
 public:
  static constexpr lock_traits traits{
      .category = category::hierarchical,
      .waiting = waiting::spin_backoff,
      .realtime = realtime::starves,
      .numa_aware = true,
      .hardened_trylock = true,
      .suits = {{{use_case::trylock_loop, 7, "its trylock takes two levels"}}},
      .reference = "David, Guerraoui and Trigonakis, SOSP 2013 (libslock)",
      .summary =
          "Ticket locks per NUMA node and for all nodes, passed on within a node up to a bound, "
          "whose waiters back off in proportion to the numbers before theirs. Made for machines "
          "with several nodes; collapses when threads outnumber cores."};
};

}  // namespace lockwright
