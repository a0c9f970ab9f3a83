// hbo: test-and-set whose word holds the holder's NUMA node. A waiter on another node backs
// off longer between its attempts, so that the lock is more likely to stay on its node.
//
// Citation: Z. Radović, E. Hagersten, "Hierarchical Backoff Locks for Nonuniform
// Communication Architectures", HPCA 2003 (the plain one of its three).
//
//   word | meaning
//   0    | free
//   n    | held by a thread that was on node n - 1 when it took it
//
// Invariants
//   EXCLUSION  only the thread whose compare-and-swap found 0 is inside.
//   BOUND      no waiter backs off for longer than its `longest` at a time;
//              nothing bounds how often threads of other nodes overtake it.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/growing_delay.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class hbo {
 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin_backoff,
      .realtime = realtime::starves,
      .light = true,
      .numa_aware = true,
      .atomics = {.lock = 1, .unlock = 0},
      .reference = "Radović and Hagersten, HPCA 2003",
      .summary =
          "Test-and-set with growing delays, longer ones for waiters on another NUMA node than the "
          "holder's. Light, and keeps to a node by chance; can starve the other nodes."};

  static constexpr tunable shortest{
      .name = "shortest",
      .default_value = 1u << 9,
      .counted_in = unit::turns,
      .min = 0,
      .max = 1u << 30,
      .model_value = 1,
      .meaning = "the first delay when the holder is on this node",
      .source = "as for backoff, in LiTL (Guerraoui et al., TOCS 2019)"};
  static constexpr tunable longest{.name = "longest",
                                   .default_value = 1u << 12,
                                   .counted_in = unit::turns,
                                   .min = 0,
                                   .max = 1u << 30,
                                   .model_value = 2,
                                   .meaning = "the longest delay when the holder is on this node",
                                   .source = "eight times the shortest"};
  static constexpr tunable remote_shortest{
      .name = "remote-shortest",
      .default_value = 1u << 11,
      .counted_in = unit::turns,
      .min = 0,
      .max = 1u << 30,
      .model_value = 1,
      .meaning = "the first delay when the holder is on another node",
      .source = "four times that on the holder's node"};
  static constexpr tunable remote_longest{
      .name = "remote-longest",
      .default_value = 1u << 14,
      .counted_in = unit::turns,
      .min = 0,
      .max = 1u << 30,
      .model_value = 2,
      .meaning = "the longest delay when the holder is on another node",
      .source = "four times that on the holder's node"};
  static constexpr tunable_list<4> tunables{&shortest, &longest, &remote_shortest, &remote_longest};

  // Inlined, or the call would cost as much as the rest of the fast path.
  [[gnu::always_inline]] arrival lock() {
    const std::uint32_t here = Env::node() + 1;
    std::uint32_t holder = free_;
    if (take(holder, here)) {
      return arrival::uncontended;
    }
    back_off_and_take(holder, here);
    return arrival::contended;
  }

  [[gnu::always_inline]] bool try_lock() {
    std::uint32_t holder = word_.load(std::memory_order_relaxed);
    return holder == free_ && take(holder, Env::node() + 1);
  }

  void unlock() { word_.store(free_, std::memory_order_release); }

 private:
  static constexpr std::uint32_t free_ = 0;

  /// False, and where the holder is, if a thread has the lock. Acquire pairs
  /// with the release store in unlock().
  bool take(std::uint32_t& holder, std::uint32_t here) {
    holder = free_;
    return word_.compare_exchange_strong(holder, here, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  [[gnu::noinline]] void back_off_and_take(std::uint32_t holder, std::uint32_t here) {
    for (;;) {
      const bool near = holder == here;
      growing_delay delay =
          near ? growing_delay{Env::template value<shortest>(), Env::template value<longest>()}
               : growing_delay{Env::template value<remote_shortest>(),
                               Env::template value<remote_longest>()};
      do {
        Env::delay(delay.next());
        if (take(holder, here)) {
          return;
        }
      } while ((holder == here) == near);
      // The lock has come to this node, or left it: the delay starts again, after one
      // more delay if it has left.
      if (near) {
        Env::delay(delay.next());
      }
      if (take(holder, here)) {
        return;
      }
    }
  }

  typename Env::template atomic<std::uint32_t> word_{};
};

}  // namespace lockwright
