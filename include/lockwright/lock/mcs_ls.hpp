// mcs-ls: libslock's MCS queue: a polling waiter requests the line of its own node for writing,
// with longer pauses in between.
//
// Citation: T. David, R. Guerraoui, V. Trigonakis, "Everything You Always Wanted to Know About
// Synchronization but Were Afraid to Ask", SOSP 2013 (its library, libslock).
//
// The words and the invariants are those of mcs; only the polling differs.
#pragma once

#include "lockwright/lock.hpp"
#include "lockwright/lock/mcs.hpp"
#include "lockwright/parts/prefetch.hpp"

namespace lockwright {

template <class Env>
class mcs_ls : public mcs<Env, prefetch_wait> {
 public:
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .fifo = true,
      .node_bytes = mcs<Env, prefetch_wait>::traits.node_bytes,
      .reference = "David, Guerraoui and Trigonakis, SOSP 2013 (libslock)",
      .summary =
          "libslock's MCS queue: every thread polls a flag of its own and prefetches it for "
          "writing. First come, first served; collapses when threads outnumber cores."};
};

}  // namespace lockwright
