// What is written down of acquisitions that are looked into. All but the first four, and a wait in
// vain, are for the holder of the mutex.
#pragma once

#include <cstdint>

#include "probe/mutex_words.hpp"
#include "probe/profile_buffer.hpp"

namespace lockwright::probe {

/// The stack of the caller of a lock function, as a number plus one, if one is due; else 0.
std::uint32_t stack_in_turn(profile_buffer& target, thread_slot& thread, const record& of,
                            std::uint64_t caller, std::uint64_t now);

/// The stack of an initialisation at a place, as a number plus one, if one is due; else 0.
std::uint32_t init_stack_in_turn(init_table& inits, thread_slot& thread, std::uint32_t at,
                                 std::uint64_t caller);

/// A trylock found the mutex held.
void note_failure(profile_buffer& target, thread_slot& thread, mutex_words& mutex,
                  std::uint64_t caller);

/// Counts a wait. Returns its sampling weight, or 0 if the wait is not to be recorded further; a
/// long wait always has weight 1. Measured waits last longer than others, because the holder has to
/// note when it releases the mutex, so their durations do not enter the sum.
/// is_looked_into: the wait was measured.
std::uint32_t count_wait(profile_buffer& target, thread_slot& thread, const record& of,
                         std::uint64_t waited, bool is_looked_into);

/// One wait, with the sampling weight `weight`. for_hand_over: the weight of the handover at its
/// end, 0 if that was not measured. in_vain: it ended at a deadline, without the mutex. A
/// concurrent update by waiter and holder may lose one sample.
struct wait {
  std::uint32_t weight;
  std::uint32_t for_hand_over;
  std::uint32_t others;  ///< waited already
  std::uint32_t stack;   ///< plus one
  std::uint64_t caller;
  std::uint64_t holder;  ///< caller that had taken it; 0 if that is not known
  std::uint64_t begin;
  std::uint64_t end;
  bool in_vain;
};
void note_wait(profile_buffer& target, thread_slot& thread, record& of, const mutex_words& mutex,
               const wait& seen);

/// An acquisition of sampling weight `weight`, whose holding time is measured from now on.
/// previous: the kernel's number of the last holder, 0 if it is not known.
struct acquisition {
  std::uint32_t weight;
  std::uint32_t previous;
  std::uint32_t stack;  ///< plus one
  bool tried;
  std::uint64_t caller;
};
void begin_hold(profile_buffer& target, thread_slot& thread, record& of, mutex_words& mutex,
                const acquisition& seen);

/// Continues the measurement after a condition wait has reacquired the mutex.
void resume_hold(record& of, mutex_words& mutex, std::uint64_t caller);

/// The end of a measured holding. releaser: caller of the function that releases the mutex; 0 if it
/// goes on after a condition variable.
void end_hold(mutex_words& mutex, std::uint64_t releaser);

/// To be called before the release of a mutex that has waiters.
void note_release(mutex_words& mutex);

}  // namespace lockwright::probe
