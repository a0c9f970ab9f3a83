// lifo-cr: a stack of waiting threads. An unlock hands the lock to the youngest waiter, and by
// chance to the oldest, so that few threads circulate.
//
// Citation: D. Dice, "Malthusian Locks", EuroSys 2017 (LIFO-CR).
//
//   word | meaning
//   top  | the waiter that came last, and two tags:
//        | held_      a thread is inside
//        | recalled_  a recalled waiter has not acquired the lock or queued again
//        | 0: free, and no thread waits; a free lock with a stack is recalled_
//
//   node  | meaning
//   below | the waiter that came before
//   cell  | granted: the lock, or a recall
//   grant | which of them
//   favoured | recalled by chance, because it came first
//
// Arrivals push, the holder pops, and a pop is retried when a thread has arrived
// meanwhile, as in the paper. A free lock with sleepers on its stack is an addition: a
// handover to a sleeper leaves the lock unused for as long as a wake takes, and threads
// that arrive meanwhile fall asleep too, so that the next handover is to a sleeper again.
// So where the top sleeps, an unlock recalls it, which is the paper's anticipatory warm-up:
// it is woken and competes again, while the lock is free for a running thread. One that
// was favoured by chance is handed the lock even if it sleeps again by then.
//
// Invariants
//   EXCLUSION  only the thread that set held_, or was granted it, is inside.
//   ONE-POPPER only the holder takes nodes off, so a top that has not changed is the same stack.
//   HEIR       when the lock becomes free with a stack, a recalled thread is on its way to it.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/flagged.hpp"
#include "lockwright/parts/restriction.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class lifo_cr {
  enum : std::uint8_t { lock_, recall_, favour_ };  // grant

  struct alignas(64) node {
    typename Env::template plain<node*> below{};
    typename Env::template plain<std::uint8_t> grant{};
    typename Env::template plain<bool> favoured{};
    spin_then_park<Env> cell;
  };

  using flag = flagged<node>;

 public:
  static constexpr lock_traits traits{
      .category = category::load_control,
      .waiting = waiting::spin_then_park,
      .realtime = realtime::own_order,
      .light = true,
      .node_bytes = sizeof(node),
      .low_traffic = true,
      .suits = {{{use_case::crowded, 3,
                  "keeps the lock with the threads that run, as malth-stp does"},
                 {use_case::memory_contention, 5, "keeps few threads in circulation"}}},
      .patents = "US 11,314,562 and 12,182,636 (concurrency restriction)",
      .reference = "Dice, EuroSys 2017",
      .summary =
          "Waiters form a stack, and an unlock takes the one that came last, once in a while the "
          "one that came first. Few threads circulate and those that run keep the lock, so it "
          "survives over-subscription."};

  static constexpr auto tunables = join(tunable_list<1>{&fairness}, spin_then_park<Env>::tunables);

  arrival lock() {
    node* seen = nullptr;
    // Acquire, here and wherever held_ is set, pairs with the release that freed the lock.
    if (top_.compare_exchange_strong(seen, flag::make(nullptr, held_), std::memory_order_acquire,
                                     std::memory_order_relaxed)) [[likely]] {
      return arrival::uncontended;
    }
    return push_and_wait(seen);
  }

  bool try_lock() {
    node* seen = top_.load(std::memory_order_relaxed);
    return !flag::has(seen, held_) &&
           top_.compare_exchange_strong(seen, flag::make(seen, held_), std::memory_order_acquire,
                                        std::memory_order_relaxed);
  }

  void unlock() {
    node* seen = flag::make(nullptr, held_);
    // Acquire, here and below, pairs with the release in push_and_wait(), which publishes nodes.
    if (!top_.compare_exchange_strong(seen, nullptr, std::memory_order_release,
                                      std::memory_order_acquire)) {
      pass_on(seen);
    }
  }

 private:
  static constexpr std::uintptr_t held_ = 1;
  static constexpr std::uintptr_t recalled_ = 2;

  [[gnu::noinline]] arrival push_and_wait(node* seen) {
    node* me = nullptr;
    std::uintptr_t own_tag = 0;  // the tag to clear when a recalled thread competes again
    for (;;) {
      const std::uintptr_t flags = flag::flags(seen) & ~own_tag;
      if (!flag::has(seen, held_)) {
        if (top_.compare_exchange_strong(seen, flag::make(flag::pointer(seen), flags | held_),
                                         std::memory_order_acquire, std::memory_order_relaxed)) {
          break;
        }
        continue;
      }
      if (me == nullptr) {
        me = Env::template take_node<node>();
        me->favoured = false;
      }
      me->below = flag::pointer(seen);
      me->cell.arm();
      // Release publishes the node to the holder.
      if (!top_.compare_exchange_strong(seen, flag::make(me, flags), std::memory_order_release,
                                        std::memory_order_relaxed)) {
        continue;
      }
      own_tag = 0;
      me->cell.wait();
      if (me->grant == lock_) {
        break;
      }
      own_tag = recalled_;
      me->favoured = me->grant == favour_;
      seen = top_.load(std::memory_order_relaxed);
    }
    if (me == nullptr) {
      return arrival::uncontended;
    }
    Env::give_node(me);
    return arrival::contended;
  }

  /// The unlock of a holder that has waiters.
  [[gnu::noinline]] void pass_on(node* seen) {
    node* heir = nullptr;  // to be recalled, once the lock is released
    if (Env::chance(Env::template value<fairness>())) {
      if (node* oldest = take_oldest(flag::pointer(seen))) {
        if (!oldest->cell.asleep()) {
          grant(oldest, lock_);
          return;
        }
        oldest->grant = favour_;
        heir = oldest;
      }
    }
    // From here on the lock may be destroyed, unless a thread is next or recalled.
    if (node* next = take_next(seen, heir)) {
      grant(next, lock_);
    }
    if (heir != nullptr) {
      heir->cell.grant();
    }
  }

  /// Pops the waiter that the lock is handed to; null when it has become free. Then
  /// `heir` is to be recalled, if not null.
  node* take_next(node* seen, node*& heir) {
    for (;;) {
      node* top = flag::pointer(seen);
      if (top == nullptr) {
        // The recalled thread will arrive by itself.
        if (top_.compare_exchange_strong(seen, nullptr, std::memory_order_release,
                                         std::memory_order_acquire)) {
          return nullptr;
        }
        continue;
      }
      if (!top->cell.asleep() || top->favoured) {
        // Relaxed: the grant hands the section's writes over.
        if (top_.compare_exchange_strong(seen, flag::make(top->below, flag::flags(seen)),
                                         std::memory_order_relaxed, std::memory_order_acquire)) {
          return top;
        }
        continue;
      }
      const bool recalls = heir == nullptr && !flag::has(seen, recalled_);
      node* left = recalls ? static_cast<node*>(top->below) : top;
      if (top_.compare_exchange_strong(seen,
                                       left == nullptr ? nullptr : flag::make(left, recalled_),
                                       std::memory_order_release, std::memory_order_acquire)) {
        if (recalls) {
          top->grant = recall_;
          heir = top;
        }
        return nullptr;
      }
    }
  }

  /// The bottom of a stack of two or more, which arrivals do not touch; null if
  /// there is no such stack. Takes as many steps as there are waiters, rarely.
  static node* take_oldest(node* top) {
    node* above = nullptr;
    node* oldest = top;
    while (oldest != nullptr && oldest->below != nullptr) {
      above = oldest;
      oldest = oldest->below;
    }
    if (above == nullptr) {
      return nullptr;
    }
    above->below = nullptr;
    return oldest;
  }

  static void grant(node* to, std::uint8_t what) {
    to->grant = what;
    to->cell.grant();
  }

  typename Env::template atomic<node*> top_{};
};

}  // namespace lockwright
