// Timed acquisition with a POSIX deadline.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstdint>

#include "interpose/deadline.hpp"
#include "lockwright/lock.hpp"
#include "preload/counting.hpp"
#include "preload/timed_wait.hpp"
#include "preload/waiter_types.hpp"
#include "preload/watch.hpp"

namespace lockwright::preload {

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
/// queues like the others; with any other it sleeps in `queue`, that of the lock's mutex.
template <class L, class Queue>
bool lock_until(L& lock, Queue& queue, deadline_clock clock, const timespec& deadline) {
  if constexpr (is_abortable<L>) {
    return attempt_until(clock, deadline,
                         [&lock](std::uint64_t until) { return lock.try_lock_until(until); });
  } else {
    // Under a lock without an order of its own, a handover costs more than a race for the lock, so
    // waiters are served as rarely as `adaptive` serves its oldest sleepers. But no later than after
    // half of the time that the caller has, so that it is admitted under constant contention, too.
    constexpr std::uint64_t least = L::traits.fifo ? 0 : 4'000'000;
    constexpr std::uint64_t for_each = L::traits.fifo ? 0 : 500'000;
    const std::uint64_t most = time_left(clock, deadline) / 2;
    timed_wait<environment, pthread_mutex_t> wait(queue,
                                                  {least < most ? least : most, for_each, most});
    if (is_watched()) {
      valgrind::hide(&wait, sizeof wait);
    }
    return attempt_until(clock, deadline, [&lock, &wait](std::uint64_t until) {
      return wait.lock_until(lock, until);
    });
  }
}

}  // namespace lockwright::preload
