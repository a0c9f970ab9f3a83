// hapax: a FIFO lock without queue nodes. A thread swaps a number that no other acquisition of the
// process has into the lock, and waits until the number that it found there has departed; meanwhile
// it polls a slot of an array that all locks share.
//
// Citation: D. Dice, A. Kogan, "Hapax Locks: Value-Based Mutual Exclusion", PPoPP 2026.
//
//   word   | meaning                                         | written by
//   arrive | the number of the last thread that arrived      | arriving threads
//   depart | even: the number of the last holder that left   | that holder, in unlock()
//          | odd: held, by the thread of this number less 1  | the holder, when it enters
//   arrive == depart: free. Numbers are even; 0 belongs to no thread.
//
//   slot of the array | the number of a holder that left some lock, and that hashes to the slot;
//                     | a change only means: read depart again
//
// In the paper the holder passes its number to unlock(); POSIX passes only the lock, so it is
// stored in depart.
//
// Invariants
//   ORDER      the lock is taken in the order of the exchanges on arrive.
//   ONE-WRITER only the holder writes depart, so a plain store releases.
//   NO-LOST-CHANGE  a waiter reads its slot before it reads depart, and unlock writes depart before
//              the slot. The slot never has a value again that it had, so a waiter that has read an
//              old depart sees that the slot changes.
//   LAST-TOUCH an unlock does not access the lock after the store to depart.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class hapax {
  using word = typename Env::template atomic<std::uint64_t>;

  static constexpr std::size_t max_slots = 4096;

  struct waiting_array {
    word slots[max_slots];
  };

 public:
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .fifo = true,
      .light = true,
      .reference = "Dice and Kogan, PPoPP 2026",
      .summary =
          "A queue lock without queue nodes: threads wait for each other's numbers, in an array "
          "that all locks share. First come, first served, light and small; collapses when threads "
          "outnumber cores."};

  static constexpr tunable slots{.name = "slots",
                                 .default_value = max_slots,
                                 .counted_in = unit::count,
                                 .min = 1,
                                 .max = max_slots,
                                 .model_value = 2,
                                 .meaning = "how many slots of the waiting array are used",
                                 .source = "its authors (PPoPP 2026)"};
  static constexpr tunable_list<1> tunables{&slots};

  /// The size of the array in the model checker.
  static constexpr std::size_t common_bytes = slots.model_value * sizeof(word);

  arrival lock() {
    const std::uint64_t mine = fresh_number();
    // Relaxed: the acquire is on depart, whose store releases.
    const std::uint64_t before = arrive_.exchange(mine, std::memory_order_relaxed);
    arrival found = arrival::uncontended;
    // Acquire pairs with the release store in unlock().
    if (depart_.load(std::memory_order_acquire) != before) {
      await(before);
      found = arrival::contended;
    }
    depart_.store(mine | held_, std::memory_order_relaxed);
    return found;
  }

  bool try_lock() {
    // Acquire as in lock().
    std::uint64_t last = depart_.load(std::memory_order_acquire);
    if (arrive_.load(std::memory_order_relaxed) != last) {
      return false;
    }
    const std::uint64_t mine = fresh_number();
    // No number comes twice: if it is still there, no thread has arrived since.
    if (!arrive_.compare_exchange_strong(last, mine, std::memory_order_relaxed,
                                         std::memory_order_relaxed)) {
      return false;
    }
    depart_.store(mine | held_, std::memory_order_relaxed);
    return true;
  }

  void unlock() {
    const std::uint64_t mine = depart_.load(std::memory_order_relaxed) & ~held_;
    word& slot = slot_of(mine);
    depart_.store(mine, std::memory_order_release);
    // Release: a waiter that sees the change sees depart as of then. An exchange, because a plain
    // store by another lock's unlock would end the release sequence of this one.
    slot.exchange(mine, std::memory_order_release);
  }

 private:
  static constexpr std::uint64_t held_ = 1;

  static std::uint64_t fresh_number() { return 2 * Env::unique_number(); }

  [[gnu::noinline]] void await(std::uint64_t before) {
    word& slot = slot_of(before);
    for (;;) {
      // Acquire pairs with the release in unlock(): see NO-LOST-CHANGE.
      const std::uint64_t seen = slot.load(std::memory_order_acquire);
      // Acquire as in lock().
      if (depart_.load(std::memory_order_acquire) == before) {
        return;
      }
      while (slot.load(std::memory_order_relaxed) == seen) {
        Env::relax();
      }
    }
  }

  /// The high bits of a product with 2^64 / phi differ for consecutive numbers (Fibonacci hashing,
  /// Knuth, TAOCP 6.4), so that their slots share no cache line.
  static word& slot_of(std::uint64_t number) {
    const std::uint64_t hash = number * 0x9E37'79B9'7F4A'7C15u >> 32;
    return Env::template common<waiting_array>().slots[hash % Env::template value<slots>()];
  }

  word arrive_{};
  word depart_{};
};

}  // namespace lockwright
