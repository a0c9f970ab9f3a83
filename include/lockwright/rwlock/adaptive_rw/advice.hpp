// What `adaptive-rw` learns of its load beside the bits of its word: when readers may use the table,
// and whether threads come so often that it pays to stand aside. A wrong answer costs time and
// nothing else: the model checker replaces the first, in Env::advice(), by a free choice, and no
// thread of the model stands aside.
//
// Citation: the time for which readers keep off the table: D. Dice and A. Kogan, "BRAVO - Biased
// Locking for Reader-Writer Locks", USENIX ATC 2019.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class adaptive_rw_advice {
 public:
  static constexpr tunable inhibition{
      .name = "inhibition",
      .default_value = 9,
      .counted_in = unit::count,
      .max = 1'000'000,
      .model_value = 0,
      .meaning =
          "for how many times as long as a writer has waited for the table readers keep off it",
      .source = "BRAVO's N, which bounds a writer's slowdown by 10 % (ATC 2019)"};
  static constexpr tunable aside{
      .name = "aside-ns",
      .default_value = 10'000,
      .counted_in = unit::nanoseconds,
      .max = std::uint64_t{1} << 40,
      .model_value = 0,
      .meaning = "how long a thread stands aside where others enter at a high rate; 0: it does not",
      .source = "`lockwright bench regret`: 4 us gain less, 40 us no more"};
  static constexpr tunable crowded{
      .name = "crowded-ns",
      .default_value = 80,
      .counted_in = unit::nanoseconds,
      .max = 1'000,
      .model_value = 0,
      .meaning = "the mean time between two attempts below which the others' rate is high",
      .source = "about as long as two threads take in turn, each of which fetches the line"};

  /// Whether a reader that meets others may begin to use the table.
  bool may_spread() const {
    const std::uint16_t due = due_.load(std::memory_order_relaxed);
    const int left = due - coarse(Env::now());
    return due == 0 || static_cast<std::uint16_t>(left) > coarse(longest_off_);
  }

  void begins_to_spread() { due_.store(fine(Env::now()), std::memory_order_relaxed); }

  /// Whether readers may use the table again right after a writer that has waited for it from `begin`
  /// to `end`, in ns. So that readers gain more than writers lose: the time between two writers is to
  /// be reading_per_wait_ times as long, in the mean of some tens of microseconds.
  bool keeps_spread(std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t cost = (end - begin + longer_way_) * reading_per_wait_ >> 8;
    const auto passed =
        static_cast<std::uint16_t>(fine(begin) - due_.load(std::memory_order_relaxed));
    const std::uint64_t credit = passed < most_credit_ ? passed : most_credit_;
    if (cost >= credit) {
      return false;
    }
    due_.store(static_cast<std::uint16_t>(fine(end) - (credit - cost)), std::memory_order_relaxed);
    return true;
  }

  /// A writer that has waited for the table from `begin` to `end`, in ns, ends its use.
  void ends_spread(std::uint64_t begin, std::uint64_t end, bool is_crowded) {
    std::uint64_t off = (end - begin) * Env::template value<inhibition>();
    if (off < shortest_off_ && is_crowded) {
      off = shortest_off_;
    }
    due_.store(coarse(end + (off < longest_off_ ? off : longest_off_)) | 1,
               std::memory_order_relaxed);
  }

  /// For a thread that is about to enter; true. Not for one that is inside, from which others may have
  /// taken the line. Others may count at the same time: some are lost.
  [[gnu::always_inline]] bool counts_attempt() {
    attempts_.store(attempts_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
  }

  /// Whether a thread that does not enter at once has to look how often others come: always in a
  /// crowded lock, else now and then.
  static bool watches(bool is_crowded) {
    return Env::template value<aside>() != 0 && (is_crowded || Env::chance(arrivals_per_look_));
  }

  /// Looks for a while from `begin` on, in ns, without a step at the lock.
  bool finds_high_rate(std::uint64_t begin) const {
    const std::uint64_t length = Env::template value<aside>();
    const std::uint16_t seen = attempts_.load(std::memory_order_relaxed);
    const std::uint64_t passed = passes(begin, length < watched_ ? length : watched_);
    const auto attempts =
        static_cast<std::uint16_t>(attempts_.load(std::memory_order_relaxed) - seen);
    return attempts * Env::template value<crowded>() > passed;
  }

  /// Returns once it has been away long enough since `begin`, in ns.
  static void stays_away(std::uint64_t begin) { passes(begin, Env::template value<aside>()); }

 private:
  static std::uint16_t coarse(std::uint64_t ns) { return static_cast<std::uint16_t>(ns >> 13); }
  static std::uint16_t fine(std::uint64_t ns) { return static_cast<std::uint16_t>(ns >> 8); }

  /// Returns the time since `begin` once it is at least `length`.
  static std::uint64_t passes(std::uint64_t begin, std::uint64_t length) {
    std::uint64_t passed = 0;
    do {
      Env::relax();
      passed = Env::now() - begin;
    } while (passed < length);
    return passed;
  }

  /// Of a crowded lock, which writers enter at a high rate too: some tens of microseconds are enough.
  static constexpr std::uint64_t shortest_off_ = 100'000;     // ns
  static constexpr std::uint64_t longest_off_ = 250'000'000;  // ns, of the 537 ms that `due` has
  /// 4 is too few for 90 % reads with empty sections, whose rate in the table is low, and 9 too many for
  /// 99 %: `lockwright-bench rwlock`.
  static constexpr std::uint64_t reading_per_wait_ = 6;
  static constexpr std::uint64_t longer_way_ = 100;   // ns, of a writer that finds the table empty
  static constexpr std::uint64_t most_credit_ = 100;  // of 2^8 ns
  static constexpr std::uint64_t watched_ = 2'000;    // ns
  static constexpr std::uint64_t arrivals_per_look_ = 128;

  // The model takes any answer, so that these are no steps of it.
  static constexpr bool is_modelled_ = Env::max_self < 4096;
  using hint = std::conditional_t<is_modelled_, std::atomic<std::uint16_t>,
                                  typename Env::template atomic<std::uint16_t>>;
  /// Without `spread`, when it may be set again, in units of 2^13 ns modulo 2^16; 0: at any time. With
  /// it, the time from which on readers have had the table for writers to come, see keeps_spread(), in
  /// units of 2^8 ns modulo 2^16.
  hint due_{};
  /// About how often a thread has found the lock open, without the table, modulo 2^16.
  hint attempts_{};
};

}  // namespace lockwright
