// The records of sampled acquisitions and measured waits. The caller of all but the first four
// functions holds the mutex, unless its wait timed out.
#pragma once

#include <cstdint>

#include "probe/mutex_words.hpp"
#include "probe/profile_buffer.hpp"
#include "probe/rwlock_words.hpp"

namespace lockwright::probe {

/// Walks the stack of the caller of a lock function if that is due. Returns its number plus one, or
/// 0.
std::uint32_t stack_if_due(profile_buffer& target, thread_slot& thread, const record& entry,
                           std::uint64_t caller, std::uint64_t now);

/// The same by the number of a record, or as in a stack. is_rare: it is due in any case.
std::uint32_t stack_if_due(profile_buffer& target, thread_slot& thread, std::uint32_t number,
                           std::uint64_t caller, std::uint64_t now, bool is_rare = false);

/// Notes the caller that initialises an object: its site in `link`, with the stack if that is due to
/// be walked, and its ordinal there in `number`. target: null if the process has none yet.
void note_init(profile_buffer* target, init_table& inits, thread_slot& thread, std::uint64_t caller,
               std::uint32_t& link, std::uint32_t& number);

/// Counts a trylock that found the mutex or reader-writer lock held.
void note_failure(profile_buffer& target, thread_slot& thread, const record& entry);

/// Counts a wait. Returns its sampling weight, or 0 if the wait is not to be recorded further; a
/// long wait always has weight 1. Measured waits last longer than others, because the holder has to
/// note when it releases the mutex, so their durations do not enter the sum.
/// is_measured: the wait was measured.
std::uint32_t count_wait(profile_buffer& target, thread_slot& thread, const record& entry,
                         std::uint64_t waited, bool is_measured);

/// One wait, with the sampling weight `weight`. handover_weight: that of the handover at its end,
/// after the release that the record has; 0 if that was not measured.
struct wait {
  std::uint32_t weight;
  std::uint32_t handover_weight;
  std::uint32_t others;  ///< that were already waiting
  std::uint32_t stack;   ///< plus one
  std::uint64_t caller;
  std::uint64_t holder;  ///< the holder's caller; 0 if not known
  std::uint64_t begin;
  std::uint64_t end;
};
void note_wait(profile_buffer& target, thread_slot& thread, record& entry, const wait& measured);

/// Records an acquisition that failed. passed_over: acquisitions that its sample stands for.
void note_error(record& entry, std::uint32_t passed_over, bool has_waited);

/// Notes the acquisitions that a mutex has counted.
void look_at_count(record& entry, const mutex_words& mutex);

/// A sampled acquisition, whose holding time is measured from now on. previous: the kernel's number
/// of the last holder, 0 if it is not known.
struct acquisition {
  std::uint32_t weight;
  std::uint32_t previous;
  std::uint32_t stack;  ///< plus one
  bool by_trylock;
  std::uint64_t caller;
};
void begin_hold(profile_buffer& target, thread_slot& thread, record& entry, mutex_words& mutex,
                const acquisition& sampled);

/// Continues the measurement after a condition wait has reacquired the mutex.
void resume_hold(record& entry, mutex_words& mutex, std::uint64_t caller);

/// Ends the measurement of a holding time. releaser: caller of the function that releases the
/// mutex; 0 for a condition variable wait.
void end_hold(mutex_words& mutex, std::uint64_t releaser);

/// A sampled acquisition of a reader-writer lock, whose section is measured from now on; other
/// readers may be inside.
void begin_section(profile_buffer& target, thread_slot& thread, record& entry,
                   const rwlock_words& lock, const acquisition& sampled);

/// Ends the measurement of the section, if the calling thread's is being measured; called before
/// the release. releaser: caller of the function that releases the lock.
void end_section(profile_buffer& target, thread_slot& thread, const rwlock_words& lock,
                 std::uint64_t releaser);

/// Notes the time of a release; called before the release of a mutex that has waiters.
void note_release(mutex_words& mutex);

}  // namespace lockwright::probe
