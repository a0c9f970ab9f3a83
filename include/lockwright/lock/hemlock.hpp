// hemlock: a queue lock without queue nodes. A thread has one word for all locks that it holds or
// awaits; the thread behind it in a queue polls that word for the address of the lock, and clears
// it when it acquires the lock.
//
// Citation: D. Dice, A. Kogan, "Hemlock: Compact and Scalable Mutual Exclusion", SPAA 2021. With
// two refinements of its authors: CTR, by which a waiter polls by compare-and-swap, which brings it
// the line in one step; and Overlap, by which the wait for the successor moves from this unlock to
// the next one that needs the word.
//
//   word   | meaning                                         | written by
//   tail   | word of the last thread of the queue, null when | arriving threads; the
//          | free                                            | last holder
//   holder | word of the holder, or of a holder before       | the holder, when it enters
//
//   a thread's word | meaning                             | changed by
//   0               | no handover                         | the successor
//   address         | the lock there is the successor's   | the holder, in unlock()
//
// Any thread may unlock, and a thread may even wait for a lock that it holds itself, until
// another one unlocks. The published lock allows neither. So here the lock records its
// holder's word; unlock claims the word by a compare-and-swap, because two threads may each
// unlock a lock that a third one has locked; and a thread whose word may still be in the
// queue that it joins takes a queue node as its word for that lock. With Overlap, the
// published lock() waits there until the successor has taken the word's last handover of
// this lock; a thread that waits for itself would wait forever.
//
// Invariants
//   ORDER      the queue is in the order of the exchanges on tail.
//   ONE-PLACE  a word is at most once in the queue of a lock. While it is there, its thread
//              finds a tail in the lock, and its own word as the holder's.
//   HANDSHAKE  a handover begins when the successor of the last one has cleared the word.
//   WORDS-STAY the memory of a thread's word is used for words alone after the thread has ended.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class hemlock {
  class alignas(64) word {
   public:
    /// False while a handover is under way, whose successor takes it soon; or never, if it is a
    /// thread that was cancelled asynchronously in lock(). The next thread with this word would
    /// wait for it in hand_over().
    [[nodiscard]] bool is_at_rest() const { return grant.load(std::memory_order_relaxed) == 0; }

   private:
    friend class hemlock;

    void* unused_ = nullptr;  // the environment's, while no thread has the word
    typename Env::template atomic<std::uintptr_t> grant{};
    typename Env::template plain<bool> is_node{};
  };

 public:
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .fifo = true,
      .light = true,
      .patents = "US 12,124,876 (Hemlock)",
      .reference = "Dice and Kogan, SPAA 2021",
      .summary =
          "A queue lock in which a thread has one word for all its locks, polled by the "
          "thread behind it. First come, first served, light, and without queue nodes; collapses "
          "when threads outnumber cores."};

  /// With fewer, no word is in use for two locks at once, with a waiter for each.
  static constexpr std::uint32_t checked_threads = 4;
  static constexpr tunable_list<0> tunables{};

  arrival lock() {
    word* mine = word_to_queue();
    // Release publishes the word; acquire pairs with that of the word before, and with
    // the release in unlock() that left null.
    word* before = tail_.exchange(mine, std::memory_order_acq_rel);
    arrival found = arrival::uncontended;
    if (before != nullptr) {
      await(*before);
      found = arrival::contended;
    }
    holder_.store(mine, std::memory_order_relaxed);
    return found;
  }

  bool try_lock() {
    if (tail_.load(std::memory_order_relaxed) != nullptr) {
      return false;
    }
    word* mine = word_to_queue();
    word* free = nullptr;
    // As the exchange in lock().
    if (tail_.compare_exchange_strong(free, mine, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      holder_.store(mine, std::memory_order_relaxed);
      return true;
    }
    release(mine);
    return false;
  }

  void unlock() {
    word* mine = holder_.load(std::memory_order_relaxed);
    word* last = mine;
    // Release pairs with the acquire in lock() and try_lock() that finds null.
    if (!tail_.compare_exchange_strong(last, nullptr, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      hand_over(*mine);
    }
    release(mine);
  }

 private:
  [[nodiscard]] std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(this); }

  /// The caller's own word, or a node if that may be in the queue. By ONE-PLACE it is not if the
  /// tail is null, or if the holder's word is another.
  word* word_to_queue() {
    word* own = Env::template own<word>();
    if (own == nullptr || (holder_.load(std::memory_order_relaxed) == own &&
                           tail_.load(std::memory_order_relaxed) != nullptr)) [[unlikely]] {
      word* node = Env::template take_node<word>();
      node->grant.store(0, std::memory_order_relaxed);
      node->is_node = true;
      return node;
    }
    return own;
  }

  static void release(word* mine) {
    if (mine->is_node) [[unlikely]] {
      Env::give_node(mine);
    }
  }

  [[gnu::noinline]] void await(word& before) {
    std::uintptr_t seen = address();
    // Acquire pairs with the release in hand_over(), after the section before. Release frees a
    // word that is a node, for the acquire there.
    while (!before.grant.compare_exchange_strong(seen, 0, std::memory_order_acq_rel,
                                                 std::memory_order_relaxed)) {
      seen = address();
      Env::relax();
    }
  }

  /// Accesses only the word once the successor may have the lock.
  [[gnu::noinline]] void hand_over(word& mine) {
    const std::uintptr_t here = address();
    std::uintptr_t none = 0;
    while (!mine.grant.compare_exchange_strong(none, here, std::memory_order_release,
                                               std::memory_order_relaxed)) {
      none = 0;
      Env::relax();
    }
    // Acquire pairs with the release in await(): the node is no longer read.
    while (mine.is_node && mine.grant.load(std::memory_order_acquire) == here) {
      Env::relax();
    }
  }

  typename Env::template atomic<word*> tail_{};
  typename Env::template atomic<word*> holder_{};
};

}  // namespace lockwright
