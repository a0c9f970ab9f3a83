// spinlock-ls: libslock's test-and-set by exchange, in a loop with a pause between attempts. An
// exchange writes to a held lock too, unlike the compare-and-swap of spinlock.
//
// Citation: T. David, R. Guerraoui, V. Trigonakis, "Everything You Always Wanted to Know About
// Synchronization but Were Afraid to Ask", SOSP 2013 (its library, libslock).
//
//   byte | meaning
//   0    | free
//   1    | held
//
// Invariants
//   EXCLUSION  only the thread whose exchange returned 0 is inside.
#pragma once

#include "lockwright/lock.hpp"
#include "lockwright/lock/spinlock.hpp"
#include "lockwright/parts/test_and_set.hpp"

namespace lockwright {

template <class Env>
class spinlock_ls : public spinlock<Env, exchange_byte<Env>> {
 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .light = true,
      .atomics = {.lock = 1, .unlock = 0},
      .reference = "David, Guerraoui and Trigonakis, SOSP 2013 (libslock)",
      .summary =
          "libslock's test-and-set: one byte, taken by exchange in a loop with a pause between "
          "attempts. Light and small, but every attempt moves the cache line."};
};

}  // namespace lockwright
