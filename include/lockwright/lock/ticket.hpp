// ticket: a thread draws a number and waits until that number is served. FIFO, and two words;
// all waiters poll the same word, and a preempted waiter that is next stops all behind it.
//
// Citation: J. M. Mellor-Crummey, M. L. Scott, "Algorithms for Scalable
// Synchronization on Shared-Memory Multiprocessors", ACM TOCS 9(1), 1991.
//
//   half    | bits  | meaning                        | written by
//   grant   | 0-31  | the number being served        | the holder, in unlock()
//   request | 32-63 | the next number to draw        | arriving threads
//   grant == request: free; otherwise held, with request - grant - 1 waiting
//
// Invariants
//   ORDER      numbers are served in the order in which they were drawn.
//   ONE-WRITER only the holder writes grant, so a plain store releases.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// A waiter that pauses between two polls, for a constant time.
template <class Env>
struct patient_poller {
  static constexpr tunable_list<0> tunables{};

  static void back_off(std::uint32_t, const void*) { Env::relax(); }
};

template <class Env, class Poller = patient_poller<Env>>
class ticket {
 public:
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .fifo = true,
      .light = true,
      .atomics = {.lock = 1, .unlock = 0},
      .suits = {{{use_case::low_contention, 4,
                  "one atomic operation to enter, and first come, first served"}}},
      .reference = "Mellor-Crummey and Scott, ACM TOCS 9(1), 1991",
      .summary =
          "A thread draws a number and waits until it is served. First come, first served, "
          "light and small; collapses when threads outnumber cores."};

  static constexpr auto tunables = Poller::tunables;

  arrival lock() {
    return draw_and_wait().before_mine == 0 ? arrival::uncontended : arrival::contended;
  }

  /// A number, and how many the lock had to serve before it when it was drawn.
  struct drawn {
    std::uint32_t mine;
    std::uint32_t before_mine;
  };

  /// As lock(), but returns the number and the number of waiters before it.
  drawn draw_and_wait() {
    // Relaxed: the acquire is on grant, whose store releases.
    std::uint32_t mine = request_.fetch_add(1, std::memory_order_relaxed);
    // Acquire pairs with the release store in unlock().
    std::uint32_t served = grant_.load(std::memory_order_acquire);
    if (served != mine) {
      await(mine, served);
    }
    // Unsigned, here and below: right also after the numbers have wrapped around.
    return {mine, mine - served};
  }

  /// Takes the next number only if it is being served already. Both halves are
  /// compared in one step: with the halves read apart, 2^32 acquisitions in
  /// between would make a held lock look free.
  bool try_lock() {
    std::uint32_t next = request_.load(std::memory_order_relaxed);
    if (grant_.load(std::memory_order_relaxed) != next) {
      return false;
    }
    return Env::draw_if_served(grant_, request_, next);
  }

  void unlock() {
    grant_.store(grant_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  /// For the holder: true if a thread waits. It may miss one that has just arrived.
  [[nodiscard]] bool awaited() const {
    return request_.load(std::memory_order_relaxed) - grant_.load(std::memory_order_relaxed) != 1;
  }

  /// For the holder of an awaited lock: hands it over.
  bool hand_over() {
    unlock();
    return true;
  }

 private:
  [[gnu::noinline]] void await(std::uint32_t mine, std::uint32_t served) {
    Poller me;
    do {
      me.back_off(mine - served, &grant_);
      served = grant_.load(std::memory_order_acquire);
    } while (served != mine);
  }

  alignas(8) typename Env::template atomic<std::uint32_t> grant_{};
  typename Env::template atomic<std::uint32_t> request_{};
};

}  // namespace lockwright
