// A timed acquisition of a lock whose waiters cannot give up.
#pragma once

#include <cstdint>

namespace lockwright {

/// Repeats lock.try_lock(args...), after sleeps of growing length, until it succeeds, or false at
/// `deadline` of Env::now(). The caller does not queue, so it may be passed by others.
template <class Env, class L, class... Args>
[[gnu::noinline]] bool try_lock_for(L& lock, std::uint64_t deadline, Args&... args) {
  constexpr std::uint64_t longest = 1'000'000;
  typename Env::template atomic<std::uint32_t> never_woken{0};
  for (std::uint64_t nap = 50'000; !lock.try_lock(args...); nap = nap < longest ? 2 * nap : nap) {
    const std::uint64_t now = Env::now();
    if (now >= deadline) {
      return false;
    }
    Env::wait_until(never_woken, 0, deadline - now < nap ? deadline : now + nap);
  }
  return true;
}

}  // namespace lockwright
