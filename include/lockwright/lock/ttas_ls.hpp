// ttas-ls: libslock's test-and-test-and-set with a random delay after each lost race, whose
// bound grows exponentially.
//
// Citation: T. David, R. Guerraoui, V. Trigonakis, "Everything You Always
// Wanted to Know About Synchronization but Were Afraid to Ask", SOSP 2013 (its
// library, libslock); the delay is that of T. E. Anderson, "The Performance of
// Spin Lock Alternatives for Shared-Memory Multiprocessors", IEEE TPDS 1(1), 1990.
//
//   byte | meaning
//   0    | free
//   1    | held
//
// It differs from ttas in two things: each poll requests the line for writing, and a thread
// that found the lock free but lost the race for it backs off for a random time below a limit,
// which doubles each time.
//
// libslock stores the limit for each thread and lock, and never lowers it. Here each wait begins
// with the least limit: storing it needs a record per thread and lock, and one busy period would
// slow the thread down forever. libslock polls without a pause; here there is one, as in
// the other locks.
//
// Invariants
//   EXCLUSION  only the thread whose exchange returned 0 is inside.
//   BOUND      no waiter backs off for `longest` turns or more at a time.
#pragma once

#include "lockwright/lock.hpp"
#include "lockwright/lock/ttas.hpp"
#include "lockwright/parts/growing_delay.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// A waiter that prefetches at each poll, and backs off after a lost race.
template <class Env>
class backing_off_racer {
 public:
  static constexpr tunable shortest{.name = "shortest",
                                    .default_value = 1,
                                    .counted_in = unit::turns,
                                    .min = 1,
                                    .max = 1u << 30,
                                    .model_value = 1,
                                    .meaning = "the bound of the delay after the first lost race",
                                    .source = "LiTL (Guerraoui et al., TOCS 2019)"};
  static constexpr tunable longest{.name = "longest",
                                   .default_value = 1'000,
                                   .counted_in = unit::turns,
                                   .min = 1,
                                   .max = 1u << 30,
                                   .model_value = 2,
                                   .meaning = "the highest bound of a delay",
                                   .source = "LiTL (Guerraoui et al., TOCS 2019)"};
  static constexpr tunable_list<2> tunables{&shortest, &longest};

  static void poll(const void* lock) {
    Env::prefetch(lock);
    Env::relax();
  }

  void lost() { Env::delay(Env::random(limit_.next())); }

 private:
  growing_delay limit_{Env::template value<shortest>(), Env::template value<longest>()};
};

template <class Env>
class ttas_ls : public ttas<Env, backing_off_racer<Env>> {
 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin_backoff,
      .realtime = realtime::starves,
      .light = true,
      .low_traffic = true,
      .atomics = {.lock = 1, .unlock = 0},
      .suits = {{{use_case::memory_contention, 4, "polls rarely (TOCS 2019, figure 7)"}}},
      .reference = "David, Guerraoui and Trigonakis, SOSP 2013 (libslock)",
      .summary =
          "Waiters poll with plain loads, and after a lost race back off for a random time below "
          "a growing bound. Little coherence traffic, but unfair."};

  static constexpr auto tunables = backing_off_racer<Env>::tunables;
};

}  // namespace lockwright
