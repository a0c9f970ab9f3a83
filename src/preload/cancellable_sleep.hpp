// The sleep of a thread in a wait that is a cancellation point.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <cstdint>

#include "interpose/deadline.hpp"
#include "preload/counting.hpp"
#include "preload/waiter_types.hpp"

namespace lockwright::preload {

using interpose::deadline_clock;
using interpose::kernel_time_in;
using interpose::time_left;
using interpose::wait_before_recheck;

/// Sleeps on the waiter's word. A cancellation takes effect here only, and asynchronously, because
/// the kernel is entered without the C library. Returns 0 when woken, also spuriously, else the
/// negative error number: -ETIMEDOUT if `deadline`, which may be null, has passed.
inline long sleep_cancellably(waiter& self, deadline_clock clock, const timespec* deadline) {
  timespec until{};
  if (deadline != nullptr && clock.replaced) {
    const std::uint64_t left = time_left(clock, *deadline);
    if (left == 0) {
      return -ETIMEDOUT;
    }
    until = kernel_time_in(clock.id, wait_before_recheck(left, clock, left));
    deadline = &until;
  }
  int before = PTHREAD_CANCEL_DEFERRED;
  int ignored = 0;
  count(event::futex_wait);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
  const long result = native_env::futex_sleep(self.state, waiter::waiting, clock.id, deadline);
  pthread_setcanceltype(before, &ignored);
  return result == -ETIMEDOUT && clock.replaced ? 0 : result;
}

}  // namespace lockwright::preload
