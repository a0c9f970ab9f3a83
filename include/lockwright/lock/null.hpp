// null: a lock that excludes no thread. The reference for microbenchmarks, where the lock costs
// nothing; not for programs.
//
// Citation: D. Dice, "Malthusian Locks", EuroSys 2017 (where it is the reference of some figures).
//
//   There is no state.
//
// Invariants
//   None: any number of threads are inside.
#pragma once

#include "lockwright/lock.hpp"

namespace lockwright {

template <class Env>
class null {
 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .light = true,
      .reference = "Dice, EuroSys 2017",
      .summary =
          "Excludes no thread: it shows what a measurement costs without any lock. Programs that "
          "share data do not work with it."};

  arrival lock() { return arrival::uncontended; }
  bool try_lock() { return true; }
  void unlock() {}
};

}  // namespace lockwright
