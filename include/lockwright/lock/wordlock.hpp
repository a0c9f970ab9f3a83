// wordlock: a lock and the queue of its sleepers in one word. Unlock wakes the
// first sleeper, which competes with arriving threads.
//
// Citation: F. Pizlo, "Locking in WebKit", webkit.org/blog/6161, 2016 (WTF::WordLock).
//
//   word    | bits | meaning                            | written by
//   held    | 0    | a thread is inside                 | all
//   queuing | 1    | a thread is at the queue           | a waiter; the holder, to leave
//   queue   | 6-63 | the first sleeper, whose node has  | the holder of `queuing`
//           |      | the last; null when none sleeps    |
//
//           lock              sleeper, first of its kind
//   0 -----------> held ----> held queuing ----> held queue
//                                                  |   ^
//                                      unlock      v   | sleeper
//   queue' or 0 <-------- held queuing queue <-----+---+
//
// Invariants
//   EXCLUSION  only the thread that set `held` is inside.
//   HELD-QUEUE `queuing` is set only while `held` is, and `held` is cleared only while `queuing` is
//              not another's: with both, no other thread changes the word, and a store is enough.
//   NO-LOST-SLEEPER  the step in which a thread locks the queue requires `held`, so a later
//              unlock finds that thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/flagged.hpp"
#include "lockwright/parts/waiter_list.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class wordlock {
  using entry = waiter<Env>;
  using list = waiter_list<Env>;
  using flag = flagged<entry>;

 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin_then_park,
      .realtime = realtime::own_order,
      .light = true,
      .node_bytes = sizeof(entry),
      .yields = true,
      .suits = {{{use_case::crowded, 11, "lets a running thread take the lock"}}},
      .reference = "Pizlo, Locking in WebKit, 2016",
      .summary =
          "A lock and the queue of its sleepers in one word; unlock wakes the first, which "
          "competes with arriving threads. Small, and survives over-subscription; unfair."};

  static constexpr tunable yields{
      .name = "yields",
      .default_value = 40,
      .counted_in = unit::count,
      .min = 0,
      .max = 1u << 20,
      .model_value = 0,
      .meaning = "how often a thread yields before it sleeps, while no other thread sleeps",
      .source = "WebKit, from experiments with JikesRVM"};
  /// With fewer threads no thread queues behind what is left of a list of three.
  static constexpr std::uint32_t checked_threads = 4;
  static constexpr tunable_list<1> tunables{&yields};

  arrival lock() {
    entry* free = nullptr;
    // Acquire, here and in the other acquisitions, pairs with the releases in unlock().
    if (word_.compare_exchange_strong(free, flag::make(nullptr, held_), std::memory_order_acquire,
                                      std::memory_order_relaxed)) [[likely]] {
      return arrival::uncontended;
    }
    wait_and_lock();
    return arrival::contended;
  }

  bool try_lock() {
    entry* seen = word_.load(std::memory_order_relaxed);
    return !is_held(seen) && take(seen);
  }

  void unlock() {
    entry* seen = flag::make(nullptr, held_);
    if (!word_.compare_exchange_strong(seen, nullptr, std::memory_order_release,
                                       std::memory_order_relaxed)) [[unlikely]] {
      unlock_and_wake();
    }
  }

 private:
  static constexpr std::uintptr_t held_ = 1;
  static constexpr std::uintptr_t queuing_ = 2;

  static bool is_held(entry* word) { return flag::has(word, held_); }

  bool take(entry* seen) {
    return word_.compare_exchange_strong(seen, flag::make(seen, held_), std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  [[gnu::noinline]] void wait_and_lock() {
    std::uint64_t turn = 0;
    entry* me = nullptr;
    for (;;) {
      entry* seen = word_.load(std::memory_order_relaxed);
      if (!is_held(seen)) {
        if (!take(seen)) {
          continue;
        }
        if (me != nullptr) {
          Env::give_node(me);
        }
        return;
      }
      if (flag::pointer(seen) == nullptr && turn < Env::template value<yields>()) {
        ++turn;
        Env::yield();
        continue;
      }
      if (me == nullptr) {
        me = entry::armed();
      }
      if (!take_queue(seen)) {
        Env::yield();
        continue;
      }
      // Release publishes the queue to the next thread that takes it.
      word_.store(flag::make(list::append(flag::pointer(seen), me), held_),
                  std::memory_order_release);
      me->park();
      me = nullptr;
    }
  }

  /// True if no thread was at the queue of the held lock `seen`, and the caller is
  /// now. Acquire pairs with the stores that release the queue.
  bool take_queue(entry* seen) {
    return flag::flags(seen) == held_ &&
           word_.compare_exchange_strong(seen, flag::make(seen, queuing_),
                                         std::memory_order_acquire, std::memory_order_relaxed);
  }

  [[gnu::noinline]] void unlock_and_wake() {
    entry* seen = word_.load(std::memory_order_relaxed);
    // Another thread sleeps, or is about to.
    while (!take_queue(seen)) {
      Env::yield();
      seen = word_.load(std::memory_order_relaxed);
    }
    entry* first = flag::pointer(seen);
    // Release publishes the section to the next holder of the lock, and the queue to
    // the next holder of that. From here on the lock may be gone.
    word_.store(list::rest(first), std::memory_order_release);
    first->cell.grant();
  }

  typename Env::template atomic<entry*> word_{};
};

}  // namespace lockwright
