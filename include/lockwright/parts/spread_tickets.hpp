// A ticket lock whose "now serving" number is spread over several words, one cache line each: the
// common part of partitioned ticket locks and array locks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/lock.hpp"

namespace lockwright {

/// The serving words. `Count::of()` returns their number, the same at every call; the
/// memory behind has to be reserved for all but the first.
template <class Env, class Count>
class serving_words {
  struct alignas(64) slot {
    typename Env::template atomic<std::uint32_t> served;
  };

 public:
  static std::size_t bytes() { return Count::of() * sizeof(slot); }
  static std::size_t bytes_behind() { return bytes() - sizeof(slot); }

  typename Env::template atomic<std::uint32_t>& showing(std::uint32_t number) {
    return slots_[number % Count::of()].served;
  }

 private:
  slot slots_[1];
};

/// The lock over its serving words, which are passed to each call. `Poll::step(p)` is called
/// between two polls of the word at p.
///
///   word    | meaning                                     | written by
///   request | the next number to draw                     | arriving threads
///   owner   | the holder's number                         | the holder, while inside
///   words   | word n mod S shows n when number n is served | the holder, in unlock()
///   All zero: word 0 admits number 0. Where only the words are zero, begin() makes one of
///   them admit the next number.
///
/// Invariants
///   ORDER      numbers are served in the order in which they were drawn.
///   ONE-WRITER only the holder writes a serving word, so a plain store releases.
///   OWN-NUMBER a word shows a number and not a flag, so two waiters at one word are
///              distinct, and no thread has to reset a word after use.
///   TRY        if the word of the next number shows that number, no thread has
///              drawn it, so drawing it by compare-and-swap takes a free lock.
template <class Env, class Words, class Poll>
class spread_tickets {
 public:
  using part = Words;

  /// The next number of a copied lock is not 0. No thread draws one before the words are made.
  void begin(Words& words) {
    const std::uint32_t next = request_.load(std::memory_order_relaxed);
    if (next != 0) {
      words.showing(next).store(next, std::memory_order_relaxed);
    }
  }

  arrival lock(Words& words) {
    // Relaxed: the acquire is on the serving word, whose store releases.
    std::uint32_t mine = request_.fetch_add(1, std::memory_order_relaxed);
    auto& served = words.showing(mine);
    arrival found = arrival::uncontended;
    // Acquire pairs with the release store in unlock().
    while (served.load(std::memory_order_acquire) != mine) {
      found = arrival::contended;
      Poll::step(&served);
    }
    owner_ = mine;
    return found;
  }

  bool try_lock(Words& words) {
    std::uint32_t next = request_.load(std::memory_order_relaxed);
    // Acquire pairs with the release store in unlock(): success makes the caller the holder.
    if (words.showing(next).load(std::memory_order_acquire) != next) {
      return false;
    }
    // Relaxed, as in lock(): the serving word has been acquired.
    if (!request_.compare_exchange_strong(next, next + 1, std::memory_order_relaxed,
                                          std::memory_order_relaxed)) {
      return false;
    }
    owner_ = next;
    return true;
  }

  void unlock(Words& words) {
    std::uint32_t next = owner_ + 1;
    words.showing(next).store(next, std::memory_order_release);
  }

 private:
  typename Env::template atomic<std::uint32_t> request_{};
  typename Env::template plain<std::uint32_t> owner_{};
};

/// A lock L together with its part, and the memory behind that the part needs.
template <class L>
class with_part : public L {
 public:
  static std::size_t bytes_behind() { return L::part::bytes_behind(); }

  arrival lock() { return L::lock(part_); }
  bool try_lock() { return L::try_lock(part_); }
  void unlock() { L::unlock(part_); }

 private:
  typename L::part part_;  // Nothing may stand between it and the end of this class.
};

}  // namespace lockwright
