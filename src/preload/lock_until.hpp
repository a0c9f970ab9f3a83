// Timed acquisition with a POSIX deadline.
#pragma once

#include <time.h>

#include <cstdint>

#include "interpose/deadline.hpp"
#include "lockwright/lock.hpp"
#include "preload/counting.hpp"

namespace lockwright::preload {

using interpose::backoff_sleep;
using interpose::deadline_clock;
using interpose::time_left;
using interpose::wait_before_recheck;

/// Calls attempt(deadline on the clock of native::now()) until it returns true or `deadline` has
/// passed; returns its last result.
template <class Attempt>
bool attempt_until(deadline_clock clock, const timespec& deadline, Attempt attempt) {
  // Nanoseconds: the longest time until a timed lock notices that the clock was set. A
  // waiter that leaves the queue to read the clock does so once a second.
  constexpr std::uint64_t longest = 1'000'000'000;
  for (;;) {
    const std::uint64_t left = time_left(clock, deadline);
    if (left == 0) {
      return false;
    }
    if (attempt(native::now() +
                wait_before_recheck(left, clock, clock.id == CLOCK_REALTIME ? longest : left))) {
      return true;
    }
  }
}

/// Locks until `deadline`; returns false if it has passed. With an abortable algorithm the waiter
/// queues like the others; with any other it repeats trylock.
template <class L>
bool lock_until(L& lock, deadline_clock clock, const timespec& deadline) {
  if constexpr (TimedLock<L>) {
    return attempt_until(clock, deadline,
                         [&lock](std::uint64_t until) { return lock.try_lock_until(until); });
  } else {
    backoff_sleep pause(clock, deadline);
    while (!lock.try_lock()) {
      if (!pause.sleep()) {
        return false;
      }
    }
    return true;
  }
}

}  // namespace lockwright::preload
