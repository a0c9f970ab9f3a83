// Lock cohorting: two locks combined into one that stays on a NUMA node for a while. Each node has
// a local lock, and all nodes share one global lock. A thread holds the combined lock when it
// holds its node's local lock and its node has the global one, which is passed on along with the
// local lock up to a bound.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/outside.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// The requirements of the composition on the local lock: cohort detection.
template <class L>
concept LocalLock = requires(L lock) {
  { lock.lock() } -> std::same_as<arrival>;
  { lock.try_lock() } -> std::same_as<bool>;
  { lock.unlock() } -> std::same_as<void>;
  { lock.awaited() } -> std::same_as<bool>;
  { lock.hand_over() } -> std::same_as<bool>;
};

/// A lock that is thread-oblivious: another thread than its acquirer may release it.
template <class L>
concept GlobalLock = requires(L lock) {
  { lock.lock() } -> std::same_as<arrival>;
  { lock.try_lock() } -> std::same_as<bool>;
  { lock.unlock() } -> std::same_as<void>;
};

/// The bound of the cohort locks.
inline constexpr tunable cohort_batch{
    .name = "batch",
    .default_value = 100,
    .counted_in = unit::count,
    .min = 1,
    .max = std::uint64_t{1} << 32,
    .model_value = 1,
    .meaning = "how often a NUMA node passes the lock on within itself, at most",
    .source = "LiTL (Guerraoui et al., TOCS 2019)"};

/// Citation: D. Dice, V. J. Marathe, N. Shavit, "Lock Cohorting: A General
/// Technique for Designing NUMA Locks", PPoPP 2012 and ACM TOPC 1(2), 2015.
///
///   word   | meaning                                        | written by
///   parts  | all of the below, made at the first use        | see outside
///   global | the global lock                                | first threads of the nodes
///   home   | the node that has the global lock              | the global lock's new holder
///   lock   | of a node: its local lock                      | that node's threads
///   passed | of a node: the thread that gets the local lock | the local lock's holder
///          | gets the global one with it                    |
///   passes | of a node: the number of passes since the node | the local lock's holder
///          | acquired the global lock                       |
///
/// Invariants
///   BOTH       the holder's node has the global lock, and the holder its node's local lock.
///   PASSED-ON  `passed` is set only if the local lock is handed to a thread that waits for it,
///              so a thread that comes later, or tries, never finds it set.
///   BATCH      after `batch` passes the global lock is released, whichever thread waits.
///   HOME       `home` determines the local lock to release, wherever the holder runs by then.
///   GLOBAL-LAST  the published release releases the global lock first, then the local one, which
///              the next holder may have destroyed by then. Here the local lock comes first, so
///              that the releasing thread has finished with the lock; the next thread of the node
///              then waits for the global lock until that is released a moment later.
template <class Env, GlobalLock Global, LocalLock Local, const tunable& Batch = cohort_batch>
class cohort {
  struct alignas(64) leaf {
    Local lock;
    typename Env::template plain<bool> passed;
    typename Env::template plain<std::uint64_t> passes;
  };

  class alignas(64) parts {
    // The size of the global lock's memory behind itself.
    static std::size_t behind() {
      if constexpr (requires { Global::bytes_behind(); }) {
        return Global::bytes_behind();
      } else {
        return 0;
      }
    }

   public:
    static std::size_t bytes() { return sizeof(parts) + behind() + Env::nodes() * sizeof(leaf); }

    leaf& of_node(std::uint32_t node) {
      auto* leaves = reinterpret_cast<unsigned char*>(this) + sizeof(parts) + behind();
      return reinterpret_cast<leaf*>(leaves)[node];
    }

    typename Env::template plain<leaf*> home;
    Global global;  // Nothing may stand between it and the end of this class.
  };

  template <class Part>
  static constexpr auto tunables_of() {
    if constexpr (requires { Part::tunables; }) {
      return Part::tunables;
    } else {
      return tunable_list<0>{};
    }
  }

 public:
  static constexpr auto tunables =
      join(tunable_list<1>{&Batch}, join(tunables_of<Local>(), tunables_of<Global>()));

  /// True if a node that waits for the global lock gets it before one that comes later.
  static constexpr bool fair_between_nodes = Global::traits.fifo;

  using part = parts;

  arrival lock(parts& all) {
    leaf& local = all.of_node(Env::node());
    arrival found = local.lock.lock();
    if (local.passed) {
      local.passed = false;
      return found;
    }
    if (all.global.lock() == arrival::contended) {
      found = arrival::contended;
    }
    all.home = &local;
    return found;
  }

  /// Both locks by trylock; a local lock taken without the global one is released. Does not wait
  /// for the lock. But if a thread has joined the local lock's queue meanwhile, the release waits
  /// until that thread has linked its node, in two steps.
  bool try_lock(parts& all) {
    leaf& local = all.of_node(Env::node());
    if (!local.lock.try_lock()) {
      return false;
    }
    if (!all.global.try_lock()) {
      local.lock.unlock();
      return false;
    }
    all.home = &local;
    return true;
  }

  bool try_lock_until(parts& all, std::uint64_t deadline)
    requires TimedLock<Local> && TimedLock<Global>
  {
    leaf& local = all.of_node(Env::node());
    if (!local.lock.try_lock_until(deadline)) {
      return false;
    }
    if (local.passed) {
      local.passed = false;
      return true;
    }
    if (!all.global.try_lock_until(deadline)) {
      local.lock.unlock();
      return false;
    }
    all.home = &local;
    return true;
  }

  void unlock(parts& all) {
    leaf& local = *static_cast<leaf*>(all.home);
    if (local.passes < Env::template value<Batch>() && local.lock.awaited()) {
      local.passes = local.passes + 1;
      local.passed = true;
      if (local.lock.hand_over()) {
        return;
      }
      // All that waited have left at a deadline.
      local.passed = false;
    }
    local.passes = 0;
    local.lock.unlock();
    all.global.unlock();
  }
};

}  // namespace lockwright
