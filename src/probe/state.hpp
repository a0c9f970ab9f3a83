// What the library knows of the process and of the calling thread.
#pragma once

#include <cstdint>

#include "probe/clock.hpp"
#include "probe/profile_buffer.hpp"

namespace lockwright::probe {

/// What a sample may cost: one in so many ticks, so that they take less than a hundredth of a
/// thread's time.
inline std::uint64_t sample_every() { return 16 * ticks_per_microsecond(); }

/// The same for a wait that is looked into, which costs more: what is written down of it was last
/// written by another thread on another processor.
inline std::uint64_t wait_every() { return 64 * ticks_per_microsecond(); }

/// Where threads count before they have been seen; never reaches an end.
extern thread_slot unassigned_slot;

/// The calling thread's place in the buffer, or what it has instead.
extern thread_local constinit thread_slot* this_slot;

/// Null where this process is not the one that is profiled.
profile_buffer* attached();

/// The buffer, mapped and claimed if nobody has tried yet; null if this process is not profiled.
profile_buffer* attach();

/// Notes what the calling thread has taken unread, and when it is to come here again; a file for
/// this process, if it has none and is worth one. Null if it still has none. is_worth: it is,
/// however few mutexes it has taken.
profile_buffer* request_buffer(bool is_worth);

/// Where a process that has no file yet notes from where mutexes are initialised; null if it will
/// never have one.
init_table* early_inits();

/// The number of the slot of a thread that nobody reads.
inline constexpr std::uint32_t no_number = ~0U;

/// What takes time or may allocate, and so must not be left to the first lock call: maps the
/// buffer, and lets a child of this process, whose buffer is its parent's, keep its hands off. To
/// be called once.
void prepare();

/// The calling thread's slot, which may be one that nobody reads. Sets `this_slot`.
thread_slot& assign_slot();

/// Calls of one thread that are counted and no more, by the power of two, that make its process
/// worth a file.
inline constexpr std::uint64_t many_calls = 1024;

/// Where the calling thread counts a call of which no more is known.
inline thread_slot& slot_for_call() {
  thread_slot& thread = this_slot != &unassigned_slot ? *this_slot : assign_slot();
  if (thread.number == no_number) [[unlikely]] {
    const std::uint64_t calls = thread.rwlock_calls + thread.spin_calls;
    if (calls % many_calls == many_calls - 1 && request_buffer(true) != nullptr) {
      return assign_slot();
    }
  }
  return thread;
}

/// Draws the next countdown at `now`; returns how many acquisitions the present one stands for.
std::uint32_t next_sample(thread_slot& thread, std::uint64_t now);

/// Draws the next countdown of contended acquisitions at `now`; returns how many the present one
/// stands for.
std::uint32_t next_wait(thread_slot& thread, std::uint64_t now);

/// Pseudo-random, from the slot.
inline std::uint32_t next_random(thread_slot& thread) {
  std::uint32_t x = thread.random;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return thread.random = x;
}

}  // namespace lockwright::probe
