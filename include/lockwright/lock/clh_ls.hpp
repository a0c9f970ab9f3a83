// clh-ls: libslock's CLH queue: a polling waiter requests the line of its predecessor's node for
// writing, with longer pauses in between.
//
// Citation: T. David, R. Guerraoui, V. Trigonakis, "Everything You Always Wanted to Know About
// Synchronization but Were Afraid to Ask", SOSP 2013 (its library, libslock).
//
// The words, the invariants and the null in place of the published dummy are
// those of clh; only the polling differs.
#pragma once

#include "lockwright/lock.hpp"
#include "lockwright/lock/clh.hpp"
#include "lockwright/parts/prefetch.hpp"

namespace lockwright {

template <class Env>
class clh_ls : public clh<Env, prefetch_wait> {
 public:
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .fifo = true,
      .node_bytes = clh<Env, prefetch_wait>::traits.node_bytes,
      .reference = "David, Guerraoui and Trigonakis, SOSP 2013 (libslock)",
      .summary =
          "libslock's CLH queue: every thread polls its predecessor's node and prefetches it for "
          "writing. First come, first served; collapses when threads outnumber cores."};
};

}  // namespace lockwright
