// clof: one lock per group of processors at each level of the machine: cache, NUMA node, package
// and all. A thread takes the locks of its groups upwards, and hands the locks above a level to
// the next thread of its group there, up to a bound.
//
// Citation: R. Chehab, A. Paolillo, D. Behrens, M. Fu, H. Härtig, H. Chen,
// "CLoF: A Compositional Lock Framework for Multi-level NUMA Systems", SOSP 2021.
// The locks are parameters, from the lowest level up: here an MCS queue where
// most threads wait, and ticket locks above, where there is one for each group.
//
//   word    | meaning                                       | written by
//   tree    | all locks, made at the first use              | see outside
//   leaf    | the holder's group at the lowest level        | the holder, while inside
//
//   group  | meaning                                              | written by
//   lock   | the lock of its threads, or of the groups below      | those
//   passed | the thread that gets the lock gets all above with it | the lock's holder
//   passes | number of passes since the locks above were taken    | the lock's holder
//
// A level at which the machine has no more groups than at the next is left out. The published
// release releases the upper lock first, then the lower one, which the next holder may have
// destroyed by then. Here the order is reversed, so that the thread that releases the topmost lock
// has finished with the tree; a lock records its holder itself, not in the group below.
//
// Invariants
//   ALL-ABOVE  the holder has taken the lock of its group at each level, or was passed it.
//   PASSED-ON  `passed` is set only while a thread waits for the lock, so a
//              thread that comes later, or tries, never finds it set.
//   BATCH      after `batch` passes at a level the locks above are released.
//   SAME-LEAF  `leaf` determines the locks to release, wherever the holder runs by then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "lockwright/lock.hpp"
#include "lockwright/parts/cohort.hpp"
#include "lockwright/parts/outside.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env, class... Locks>
class clof {
  static constexpr std::uint32_t top = sizeof...(Locks) - 1;
  static_assert(top == Env::group_levels, "one lock for each level, and one for the whole machine");

  template <std::uint32_t Level>
  struct alignas(64) group {
    std::tuple_element_t<Level, std::tuple<Locks...>> lock;
    typename Env::template plain<bool> passed;
    typename Env::template plain<std::uint32_t> passes;
  };

  /// The groups of all levels, in one piece of zeroed memory.
  class tree {
   public:
    static std::size_t bytes() { return start_of<top>() + sizeof(group<top>); }

    template <std::uint32_t Level>
    group<Level>& at(std::uint32_t number) {
      auto* first = reinterpret_cast<unsigned char*>(this) + start_of<Level>();
      return reinterpret_cast<group<Level>*>(first)[number];
    }

   private:
    template <std::uint32_t Level>
    static std::size_t start_of() {
      if constexpr (Level == 0) {
        return 0;
      } else {
        const std::size_t below = is_level<Level - 1>() ? Env::groups(Level - 1) : 0;
        return start_of<Level - 1>() + below * sizeof(group<Level - 1>);
      }
    }
  };

  /// True if the machine has more groups at that level than at the next.
  template <std::uint32_t Level>
  static bool is_level() {
    return Env::groups(Level) != (Level + 1 == top ? 1 : Env::groups(Level + 1));
  }

 public:
  static constexpr lock_traits traits{
      .category = category::hierarchical,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .numa_aware = true,
      .hardened_trylock = true,
      .node_bytes = (Locks::traits.node_bytes + ...),
      .suits = {{{use_case::trylock_loop, 6, "its trylock takes several levels"},
                 {use_case::extreme_contention, 9, "a level for each cache, node and package"}}},
      .reference = "Chehab et al., SOSP 2021",
      .summary =
          "A lock per cache, NUMA node and package, below one for all, each passing on what is "
          "above it within its group up to a bound. Made for machines of many levels; heavy when "
          "uncontended."};

  /// The number of levels below the topmost.
  static constexpr std::uint32_t levels = top;

  static constexpr tunable batch{
      .name = "batch",
      .default_value = 128,
      .counted_in = unit::count,
      .min = 1,
      .max = 0xffff'ffffu,
      .model_value = 1,
      .meaning = "how often a group passes on within itself what is above it, at most",
      .source = "the published threshold of keeping local"};
  static constexpr tunable_list<1> tunables{&batch};

  using part = tree;

  arrival lock(tree& all) {
    const std::uint32_t leaf = Env::group();
    const arrival found = take<0>(all, leaf);
    leaf_ = leaf;
    return found;
  }

  /// Tries the locks upwards; a failure releases those taken so far.
  bool try_lock(tree& all) {
    const std::uint32_t leaf = Env::group();
    if (!try_take<0>(all, leaf)) {
      return false;
    }
    leaf_ = leaf;
    return true;
  }

  void unlock(tree& all) { release<0>(all, leaf_); }

 private:
  template <std::uint32_t Level>
  static std::uint32_t above(std::uint32_t number) {
    return Level + 1 == top ? 0 : Env::group_above(Level, number);
  }

  template <std::uint32_t Level>
  static arrival take(tree& all, std::uint32_t number) {
    if constexpr (Level == top) {
      return all.template at<top>(0).lock.lock();
    } else {
      if (!is_level<Level>()) {
        return take<Level + 1>(all, above<Level>(number));
      }
      group<Level>& mine = all.template at<Level>(number);
      const arrival found = mine.lock.lock();
      if (mine.passed) {
        mine.passed = false;
        return found;
      }
      const arrival higher = take<Level + 1>(all, above<Level>(number));
      return found == arrival::contended ? found : higher;
    }
  }

  template <std::uint32_t Level>
  static bool try_take(tree& all, std::uint32_t number) {
    if constexpr (Level == top) {
      return all.template at<top>(0).lock.try_lock();
    } else {
      if (!is_level<Level>()) {
        return try_take<Level + 1>(all, above<Level>(number));
      }
      group<Level>& mine = all.template at<Level>(number);
      if (!mine.lock.try_lock()) {
        return false;
      }
      if (!try_take<Level + 1>(all, above<Level>(number))) {
        mine.lock.unlock();
        return false;
      }
      return true;
    }
  }

  template <std::uint32_t Level>
  static void release(tree& all, std::uint32_t number) {
    if constexpr (Level == top) {
      all.template at<top>(0).lock.unlock();
    } else {
      if (!is_level<Level>()) {
        release<Level + 1>(all, above<Level>(number));
        return;
      }
      group<Level>& mine = all.template at<Level>(number);
      static_assert(LocalLock<decltype(mine.lock)>);
      if (mine.passes < Env::template value<batch>() && mine.lock.awaited()) {
        mine.passes = mine.passes + 1;
        mine.passed = true;
        mine.lock.unlock();
        return;
      }
      mine.passes = 0;
      mine.lock.unlock();
      release<Level + 1>(all, above<Level>(number));
    }
  }

  typename Env::template plain<std::uint32_t> leaf_{};
};

}  // namespace lockwright
