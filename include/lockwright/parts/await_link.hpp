// The wait for a thread that has joined a queue to set its link.
#pragma once

#include <atomic>
#include <cstdint>

namespace lockwright {

/// Returns `next` once it is not null; Wait is the lock's waiting policy. Acquire pairs with
/// the release store by which a thread links itself.
template <class Wait, class Link>
[[gnu::noinline]] auto await_link(const Link& next) {
  std::uint32_t step = 0;
  auto behind = next.load(std::memory_order_acquire);
  while (behind == nullptr) {
    Wait::linger(step);
    behind = next.load(std::memory_order_acquire);
  }
  return behind;
}

}  // namespace lockwright
