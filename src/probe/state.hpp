// The profiling state of the process and of the calling thread.
#pragma once

#include <cstdint>

#include "probe/clock.hpp"
#include "probe/profile_buffer.hpp"

namespace lockwright::probe {

/// The mean interval of a thread's samples, in ticks, so that they take less than 1 % of its time.
inline std::uint64_t sample_interval() { return 16 * ticks_per_microsecond(); }

/// The mean interval of a thread's measured waits, in ticks. They cost more, because another thread
/// on another processor wrote the same records last.
inline std::uint64_t wait_interval() { return 64 * ticks_per_microsecond(); }

/// The slot of all threads that have none of their own yet.
extern thread_slot unassigned_slot;

/// The calling thread's slot in the buffer, `unassigned_slot`, or one outside any buffer.
extern thread_local constinit thread_slot* this_slot;

/// Returns the buffer of this process; null if it has none.
profile_buffer* attached();

/// Returns true if the process has a buffer or may get one when it has locked mutexes more often.
bool may_be_profiled();

/// Returns the buffer, mapped and claimed at the first call; null if this process has none.
/// before_filter: the process is about to forbid itself system calls.
profile_buffer* attach(bool before_filter = false);

/// Adds up the acquisitions of a process without a buffer, and sets when the calling thread has to
/// call again. Returns the buffer, if the process has or now gets one, else null. force: give
/// it one however few mutexes it has locked.
profile_buffer* request_buffer(bool force, bool before_filter = false);

/// Returns the initialisation sites of a process that has no file yet; null if it will never have
/// one.
init_table* early_inits();

/// Returns true in the child of a fork.
bool is_forked();

/// The number of a slot outside any buffer.
inline constexpr std::uint32_t no_number = ~0U;

/// Does once what takes too long or may allocate at the first lock call: maps the buffer, and makes
/// the children of this process detach from it at a fork.
void prepare();

/// Moves the counts that are left into the buffer, at the end of the process.
void finish();

/// Assigns the calling thread a slot, which may be outside any buffer. Sets `this_slot`.
thread_slot& assign_slot();

/// Returns true if acquisitions of a process that had no buffer wait for a slot: the next
/// acquisition moves them.
bool has_unmoved_counts();

/// Returns the calling thread's slot outside any buffer.
thread_slot& slot_outside();

/// Makes the end of the calling thread known, which has no slot yet.
void end_thread_later();

/// Calls of only counted functions by one thread after which its process gets a file; a power of
/// two.
inline constexpr std::uint64_t calls_for_file = 1024;

/// Returns the slot in which the calling thread counts a call that is not measured.
inline thread_slot& slot_for_call() {
  thread_slot& thread = this_slot != &unassigned_slot ? *this_slot : assign_slot();
  if (thread.number == no_number) [[unlikely]] {
    const std::uint64_t calls = thread.rwlock_calls + thread.spin_calls;
    if (calls % calls_for_file == calls_for_file - 1 && request_buffer(true) != nullptr) {
      return assign_slot();
    }
  }
  return thread;
}

/// Draws the next countdown at `now`; returns the sampling weight of the present acquisition.
std::uint32_t next_sample(thread_slot& thread, std::uint64_t now);

/// Takes an acquisition back that failed. weight: that of its sample, or 0; returns the weight of
/// the acquisitions before it that the sample stands for, too.
template <class Countdown>
std::uint32_t take_back(Countdown& of, std::uint32_t weight) {
  if (weight == 0) {
    ++of.countdown;
    return 0;
  }
  --of.acquisitions;
  return weight - 1;
}

/// Draws the next countdown of the thread's readers or writers likewise.
std::uint32_t next_sample(thread_slot& thread, sampler& of, std::uint64_t now);

/// Draws the next countdown of contended acquisitions at `now`; returns the weight of the present
/// one.
std::uint32_t next_wait(thread_slot& thread, std::uint64_t now);

/// Returns a pseudo-random number, from the state in the slot.
inline std::uint32_t next_random(thread_slot& thread) {
  std::uint32_t x = thread.random;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return thread.random = x;
}

}  // namespace lockwright::probe
