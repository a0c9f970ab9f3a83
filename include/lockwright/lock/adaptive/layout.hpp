// The two words of `adaptive`: `word`, which all threads change, and `state`.
//
//   word, from its low byte up
//   held_     | 1 bit   | a thread is inside
//   slow_     | 1 bit   | the holder came by wait_and_lock(); on one node `state` has its processor
//   reserved_ | 1 bit   | only an aged heir may take the lock
//   heir_     | 1 bit   | a woken sleeper has neither taken the lock yet nor gone to sleep again
//   early_    | 2 bits  | heirs in a row that found the lock free, at most 2: advice
//   signals_  | 1 bit   | a condition variable has been waited for with this mutex: advice
//   pollers_  | 3 bits  | the number of registered pollers; heirs poll without being counted
//   stack_    | 42 bits | the last sleeper that came; sleepers are linked by `below`
//   reserved_ | 1 bit   | the same again, in the high half
//   owed_     | 1 bit   | an aged sleeper is on the stack: the next unlock hands it the lock
//   elders_   | 1 bit   | the list of elders is not empty
//
// The low byte is 0 when the lock is free. The high half is 0 when an unlock need not look further:
// no thread sleeps and none has reserved the lock.
//
//   state  | meaning; only the holder writes it
//   elders | sleepers taken off the stack in a batch: a list from the oldest to the youngest
//   advice | the other bits: the poll budget, wakes suppressed in a row, the holder's processor
//          | or the preferred node, a count of contended acquisitions, whether demand is high,
//          | whether an elder is due
#pragma once

#include <cstdint>

namespace lockwright {

class adaptive_layout {
 protected:
  static constexpr std::uint64_t held_ = 1;
  static constexpr std::uint64_t slow_ = 2;
  static constexpr std::uint64_t low_byte_ = 0xff;
  static constexpr std::uint64_t heir_ = 1 << 8;
  static constexpr std::uint64_t one_early_ = 1 << 9;
  static constexpr std::uint64_t two_early_ = 2 * one_early_;
  static constexpr std::uint64_t early_ = 3 * one_early_;
  static constexpr std::uint64_t signals_ = 1 << 11;
  static constexpr std::uint64_t one_poller_ = 1 << 12;
  static constexpr std::uint64_t pollers_ = 7 * one_poller_;
  // Nodes are multiples of 64 below 2^48.
  static constexpr unsigned stack_shift_ = 10;
  static constexpr std::uint64_t stack_ = ((std::uint64_t{1} << 42) - 1) << 16;
  static constexpr std::uint64_t tags_ = ~stack_;
  static constexpr std::uint64_t reserved_ = std::uint64_t{1} << 60 | 4;
  static constexpr std::uint64_t owed_ = std::uint64_t{1} << 61;
  static constexpr std::uint64_t elders_ = std::uint64_t{1} << 62;

  static void* stack_of(std::uint64_t word) {
    return reinterpret_cast<void*>((word & stack_) >> stack_shift_);
  }
  static std::uint64_t word_of(const void* top, std::uint64_t tags) {
    return reinterpret_cast<std::uint64_t>(top) << stack_shift_ | tags;
  }

  /// Without a thread's own tags: one_poller_ or heir_, and reserved_.
  static std::uint64_t without(std::uint64_t word, std::uint64_t own) {
    return (word - (own & one_poller_)) & ~(own & (heir_ | reserved_));
  }
  static bool is_free(std::uint64_t word, std::uint64_t own) {
    return (word & low_byte_ & ~own) == 0;
  }

  // `state` has the oldest elder where the word has the stack, and advice in these bits.
  struct field {
    unsigned shift;
    std::uint64_t mask;
    std::uint64_t get(std::uint64_t state) const { return state >> shift & mask; }
    std::uint64_t set(std::uint64_t state, std::uint64_t to) const {
      return (state & ~(mask << shift)) | to << shift;
    }
  };
  static constexpr field budget_{0, 31};   // 16ths of poll_budget, with its highest bit turned
  static constexpr field is_timed_{5, 1};  // suppressed_since of the next sleeper is valid
  static constexpr field suppressed_{6, 15};
  static constexpr field is_due_{10, 1};
  static constexpr field acquisitions_{11, 7};
  static constexpr field hot_{14, 3};     // above 0: demand has been high
  static constexpr field place_{58, 63};  // see here(); 0: unknown
};

}  // namespace lockwright
