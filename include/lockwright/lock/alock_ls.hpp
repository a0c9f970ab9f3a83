// alock-ls: libslock's version of Anderson's array lock. A thread draws the next slot of a ring
// and polls that slot's cache line until the thread before it hands over. FIFO, with local
// polling and without links, but large.
//
// Citation: T. E. Anderson, "The Performance of Spin Lock Alternatives for
// Shared-Memory Multiprocessors", IEEE TPDS 1(1), 1990; T. David, R. Guerraoui,
// V. Trigonakis, "Everything You Always Wanted to Know About Synchronization but
// Were Afraid to Ask", SOSP 2013 (its library, libslock).
//
// spread_tickets.hpp describes the words and the invariants; the ring is its serving words,
// `slots` of them. The published ring holds flags, one of which is initially set, and each holder
// resets its own. With numbers instead of flags zeroed memory is an unlocked lock, and with
// more waiters than slots two of them share a line, where the published lock would fail.
#pragma once

#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/outside.hpp"
#include "lockwright/parts/prefetch.hpp"
#include "lockwright/parts/spread_tickets.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
struct array_of_slots {
  static constexpr tunable slots{
      .name = "slots",
      .default_value = 512,
      .counted_in = unit::count,
      .min = 1,
      .max = 1u << 16,
      .model_value = 2,
      .meaning = "the slots of the ring, 64 bytes each; best no fewer than threads",
      .source = "LiTL (Guerraoui et al., TOCS 2019)"};

  static std::uint32_t of() { return static_cast<std::uint32_t>(Env::template value<slots>()); }
};

template <class Env>
class alock_ls
    : public spread_tickets<Env, serving_words<Env, array_of_slots<Env>>, prefetching_poll<Env>> {
 public:
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .fifo = true,
      .light = true,
      .atomics = {.lock = 1, .unlock = 0},
      .reference =
          "Anderson, IEEE TPDS 1(1), 1990; David, Guerraoui and Trigonakis, SOSP 2013 "
          "(libslock)",
      .summary =
          "A ring of places in which every thread polls a line of its own, with memory for all of "
          "them in every lock. First come, first served; collapses when threads outnumber cores."};

  static constexpr auto tunables =
      join(tunable_list<1>{&array_of_slots<Env>::slots}, prefetching_poll<Env>::tunables);
};

}  // namespace lockwright
