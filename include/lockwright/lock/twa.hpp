// twa: a ticket lock whose waiters poll the serving word only when they are
// next. The others each poll a slot of an array that all locks of the process
// share, which the unlock that makes them next changes.
//
// Citation: D. Dice, A. Kogan, "TWA - Ticket Locks Augmented with a Waiting Array", Euro-Par 2019.
//
//   half    | bits  | meaning                        | written by
//   grant   | 0-31  | the number being served        | the holder, in unlock()
//   request | 32-63 | the next number to draw        | arriving threads
//   grant == request: free; otherwise held, with request - grant - 1 waiting
//
//   slot of the array | how often unlocks came to a number that hashes to it,
//                     | of any lock; a change only means: read grant again
//
// Invariants
//   ORDER      numbers are served in the order in which they were drawn.
//   ONE-WRITER only the holder writes grant, so a plain store releases.
//   NO-LOST-CHANGE  a waiter reads its slot before it reads grant, and unlock
//              writes grant before the slot; so a waiter that has read an old
//              grant has read an old slot, and sees that change.
//   UNLOCK-BY-NAME  after the store to grant, unlock uses the lock's address only to find the slot.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class twa {
  using counter = typename Env::template atomic<std::uint64_t>;

  static constexpr std::size_t max_slots = 4096;

  struct waiting_array {
    counter slots[max_slots];
  };

 public:
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .fifo = true,
      .light = true,
      .patents = "US 11,442,730, 11,914,996 and 12,254,317 (ticket lock with a waiting array)",
      .reference = "Dice and Kogan, Euro-Par 2019",
      .summary =
          "A ticket lock in which only the next in line polls the "
          "serving word, while the others "
          "poll an array that all locks share. First come, first "
          "served, light and small; "
          "collapses when threads outnumber cores."};

  static constexpr tunable long_term{
      .name = "long-term",
      .default_value = 1,
      .counted_in = unit::count,
      .min = 0,
      .max = 1u << 16,
      .model_value = 0,
      .meaning =
          "with how many others before it, at most, a waiter polls the "
          "serving word",
      .source = "its authors' LongTermThreshold (Euro-Par 2019)"};
  static constexpr tunable slots{.name = "slots",
                                 .default_value = max_slots,
                                 .counted_in = unit::count,
                                 .min = 1,
                                 .max = max_slots,
                                 .model_value = 2,
                                 .meaning = "how many slots of the waiting array are used",
                                 .source = "its authors (Euro-Par 2019)"};
  static constexpr tunable_list<2> tunables{&long_term, &slots};

  /// The size of the array in the model checker.
  static constexpr std::size_t common_bytes = slots.model_value * sizeof(counter);

  arrival lock() {
    // Relaxed: the acquire is on grant, whose store releases.
    const std::uint32_t mine = request_.fetch_add(1, std::memory_order_relaxed);
    // Acquire pairs with the release store in unlock().
    if (grant_.load(std::memory_order_acquire) == mine) {
      return arrival::uncontended;
    }
    await(mine);
    return arrival::contended;
  }

  /// As ticket's try_lock().
  bool try_lock() {
    const std::uint32_t next = request_.load(std::memory_order_relaxed);
    return grant_.load(std::memory_order_relaxed) == next &&
           Env::draw_if_served(grant_, request_, next);
  }

  void unlock() {
    const std::uint32_t next = grant_.load(std::memory_order_relaxed) + 1;
    counter& slot = slot_of(next + static_cast<std::uint32_t>(Env::template value<long_term>()));
    grant_.store(next, std::memory_order_release);
    // Release: a thread that sees the change sees grant as of then, or later.
    slot.fetch_add(1, std::memory_order_release);
  }

 private:
  [[gnu::noinline]] void await(std::uint32_t mine) {
    const std::uint64_t near = Env::template value<long_term>();
    // Unsigned: right also after the numbers have wrapped around.
    const auto is_far = [this, mine, near] {
      return mine - grant_.load(std::memory_order_relaxed) > near;
    };
    if (is_far()) {
      counter& slot = slot_of(mine);
      // Acquire pairs with the release in unlock(): see NO-LOST-CHANGE.
      std::uint64_t seen = slot.load(std::memory_order_acquire);
      while (is_far()) {
        std::uint64_t now = seen;
        while ((now = slot.load(std::memory_order_acquire)) == seen) {
          Env::relax();
        }
        seen = now;
      }
    }
    while (grant_.load(std::memory_order_acquire) != mine) {
      Env::relax();
    }
  }

  /// With a factor of 127, consecutive numbers of one lock share no cache line.
  counter& slot_of(std::uint32_t number) {
    const std::uint64_t lock = reinterpret_cast<std::uintptr_t>(this);
    const std::uint64_t hash = std::uint64_t{number} * 127 ^ lock;
    return Env::template common<waiting_array>().slots[hash % Env::template value<slots>()];
  }

  alignas(8) typename Env::template atomic<std::uint32_t> grant_{};
  typename Env::template atomic<std::uint32_t> request_{};
};

}  // namespace lockwright
