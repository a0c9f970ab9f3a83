// partitioned: a ticket lock whose "now serving" number is spread over several
// words, one cache line each, so that a release disturbs only the waiters of
// one word. FIFO.
//
// Citation: D. Dice, "Brief Announcement: A Partitioned Ticket Lock", SPAA 2011.
//
//   word    | meaning                                      | written by
//   request | the next number to draw                      | arriving threads
//   owner   | the holder's number                          | the holder, while inside
//   grants  | one word per NUMA node; word n mod S shows n | the holder, in unlock()
//           | when number n is served                      |
//   All zero: slot 0 admits number 0.
//
// Invariants
//   ORDER      numbers are served in the order in which they were drawn.
//   ONE-WRITER only the holder writes a grant, so a plain store releases.
//   TRY        if the slot of the next number shows that number, nobody has
//              drawn it, so drawing it by compare-and-swap takes a free lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/lazy_part.hpp"
#include "lockwright/lock.hpp"

namespace lockwright {

template <class Env>
class partitioned {
  struct alignas(64) slot {
    typename Env::template atomic<std::uint32_t> grant;
  };

  struct slots {
    slot at[1];  // Env::nodes() of them; the memory is reserved for all

    static std::size_t bytes() { return Env::nodes() * sizeof(slot); }
    typename Env::template atomic<std::uint32_t>& of(std::uint32_t number) {
      return at[number % Env::nodes()].grant;
    }
  };

 public:
  // A trylock is one load pair and one compare-and-swap, not the study's
  // blocking one, so it is not hardened against polling.
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = waiting::spin,
      .fifo = true,
      .light = true,
      .reference = "Dice, SPAA 2011",
      .summary =
          "A ticket lock with one serving word per NUMA node, so that a release disturbs only "
          "some of the waiters. First come, first served; collapses when threads outnumber "
          "cores."};

  static std::uint64_t bytes_outside() { return lazy_part<Env, slots>::bytes(); }

  arrival lock() {
    slots& grants = grants_.get();
    // Relaxed: the acquire is on the grant, whose store releases.
    std::uint32_t mine = request_.fetch_add(1, std::memory_order_relaxed);
    auto& grant = grants.of(mine);
    arrival found = arrival::uncontended;
    // Acquire pairs with the release store in unlock().
    while (grant.load(std::memory_order_acquire) != mine) {
      found = arrival::contended;
      Env::relax();
    }
    owner_ = mine;
    return found;
  }

  bool try_lock() {
    slots& grants = grants_.get();
    std::uint32_t next = request_.load(std::memory_order_relaxed);
    // Acquire pairs with the release store in unlock(): success makes us the holder.
    if (grants.of(next).load(std::memory_order_acquire) != next) {
      return false;
    }
    // Relaxed, as in lock(): the grant has been acquired.
    if (!request_.compare_exchange_strong(next, next + 1, std::memory_order_relaxed,
                                          std::memory_order_relaxed)) {
      return false;
    }
    owner_ = next;
    return true;
  }

  void unlock() {
    std::uint32_t next = owner_ + 1;
    grants_.get().of(next).store(next, std::memory_order_release);
  }

 private:
  typename Env::template atomic<std::uint32_t> request_{};
  typename Env::template plain<std::uint32_t> owner_{};
  lazy_part<Env, slots> grants_;
};

}  // namespace lockwright
