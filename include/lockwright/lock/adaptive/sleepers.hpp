// The sleepers of `adaptive`: those on the stack, from the last that came to the first, and those
// that have become elders.
//
//   node     | meaning
//   below    | the sleeper that came before
//   above    | of an elder: the elder that came after
//   last     | of the oldest elder: the youngest elder
//   due      | of the oldest elder: when it has to be served; the next one `interval` later
//   aged     | woken because it was due
//   home     | its NUMA node, if there are several
//   grant    | what the cell's grant means: the lock, or leave to compete for it
//
// Invariant ONE-POPPER: only the holder takes nodes off the stack and changes the elders.
#pragma once

#include <cstdint>

#include "lockwright/lock/adaptive/layout.hpp"
#include "lockwright/lock/adaptive/tunables.hpp"
#include "lockwright/parts/wait.hpp"

namespace lockwright {

template <class Env>
struct alignas(64) adaptive_sleeper {
  typename Env::template plain<adaptive_sleeper*> below{};
  typename Env::template plain<adaptive_sleeper*> above{};
  typename Env::template plain<adaptive_sleeper*> last{};
  typename Env::template plain<std::uint64_t> due{};
  typename Env::template plain<std::uint64_t> interval{};
  typename Env::template plain<std::uint64_t> suppressed_since{};
  typename Env::template plain<bool> aged{};
  typename Env::template plain<std::uint8_t> grant{};
  typename Env::template plain<std::uint8_t> home{};
  spin_then_park<Env> cell;
};

template <class Env>
struct adaptive_sleepers : private adaptive_tunables, private adaptive_layout {
  using node = adaptive_sleeper<Env>;

  static node* stack_of(std::uint64_t word) {
    return static_cast<node*>(adaptive_layout::stack_of(word));
  }

  /// Takes the first sleeper of the preferred node off the stack, if it is among the first ones and
  /// not `top`.
  static node* take_local(node* top, std::uint64_t place) {
    if (Env::advice(top->home == place)) {
      return nullptr;
    }
    node* above = top;
    for (std::uint64_t left = Env::template value<local_depth>(); left != 0; --left) {
      node* each = above->below;
      if (each == nullptr) {
        return nullptr;
      }
      if (Env::advice(each->home == place)) {
        node* rest = each->below;
        above->below = rest;
        return each;
      }
      above = each;
    }
    return nullptr;
  }

  /// Makes elders of all sleepers but the one that came last. Called when there are no elders.
  static std::uint64_t with_batch(std::uint64_t state, node* top) {
    if (top == nullptr || top->below == nullptr) {
      return state;
    }
    node* youngest = top->below;
    top->below = nullptr;
    youngest->above = nullptr;
    std::uint64_t count = 1;
    node* oldest = youngest;
    while (oldest->below != nullptr) {
      node* before = oldest->below;
      before->above = oldest;
      oldest = before;
      ++count;
    }
    const std::uint64_t share = Env::template value<patience>() / count;
    const std::uint64_t least = Env::template value<pace>();
    oldest->last = youngest;
    oldest->interval = share > least ? share : least;
    oldest->due = Env::now() + oldest->interval;
    return word_of(oldest, state & tags_);
  }

  /// Takes the elder that is to be woken off the list: the oldest if it is due, the youngest if no
  /// other thread sleeps (`alone`), or null.
  static node* take_elder(std::uint64_t& state, bool alone) {
    node* oldest = stack_of(state);
    if (oldest == nullptr) {
      return nullptr;
    }
    const std::uint64_t now = Env::now();
    if (Env::advice(is_due_.get(state) != 0 || oldest->due <= now)) {
      node* rest = oldest->above;
      if (rest != nullptr) {
        rest->last = oldest->last;
        rest->interval = oldest->interval;
        rest->due = now + rest->interval;
      }
      oldest->aged = true;
      state = is_due_.set(word_of(rest, state & tags_), 0);
      return oldest;
    }
    if (!alone) {
      return nullptr;
    }
    node* youngest = oldest->last;
    if (youngest == oldest) {
      state = word_of(nullptr, state & tags_);
    } else {
      node* before = youngest->below;
      before->above = nullptr;
      oldest->last = before;
    }
    return youngest;
  }
};

}  // namespace lockwright
