// Admission of a waiter with a deadline.
#pragma once

#include "../support/check.hpp"

#include <algorithm>
#include <atomic>
#include <string>

namespace check {

/// Two threads hold a lock in turn, by lock() and unlock(). The one that waits with a deadline, by
/// timed(deadline), is admitted before they have entered as often as they would in one
/// second; then they pause, so that the wait ends.
template <class Lock, class Timed, class Unlock>
std::string is_admitted_beside_others(Lock lock, Timed timed, Unlock unlock) {
  constexpr long most = 50'000;
  std::atomic<bool> stops{false};
  std::atomic<long> since{0};  // the waiter's arrival
  const auto hold = [&](Worker&) {
    while (!stops) {
      if (since > most) {
        sleep_us(1'000);
      }
      OK(lock());
      const std::int64_t end = nanoseconds(CLOCK_MONOTONIC) + 20'000;
      while (nanoseconds(CLOCK_MONOTONIC) < end) {
      }
      ++since;
      OK(unlock());
    }
  };
  Worker one{hold};
  Worker other{hold};
  long longest = 0;
  for (int i = 0; i < 20; ++i) {
    const timespec late = after_ms(CLOCK_REALTIME, 60'000);
    since = 0;
    OK(timed(late));
    longest = std::max(longest, since.load());
    OK(unlock());
    sleep_us(500);
  }
  stops = true;
  one.join();
  other.join();
  CHECK(longest < most);
  return "others entered at most " + std::to_string(longest) + " times";
}

}  // namespace check
