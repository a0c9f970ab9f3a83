#include "probe/account.hpp"

#include <sys/resource.h>

#include <utility>

#include "lockwright/env/native/syscall.hpp"
#include "probe/clock.hpp"
#include "probe/records.hpp"
#include "probe/stacks.hpp"
#include "probe/state.hpp"

namespace lockwright::probe {
namespace {

/// How long a thread goes on without the dearer looks: walking its stack takes some microseconds,
/// asking the kernel for its switches some tenths of one, a moment of the timeline is for drawing.
std::uint64_t stack_every() { return 2000 * ticks_per_microsecond(); }
std::uint64_t usage_every() { return 2000 * ticks_per_microsecond(); }
std::uint64_t moment_every() { return 300 * ticks_per_microsecond(); }

/// The same for the stack of an initialisation; the first of a place are walked each time.
std::uint64_t init_stack_every() { return 200 * ticks_per_microsecond(); }
constexpr std::uint32_t always_walked = 64;
thread_local constinit std::uint64_t last_init_walk = 0;

/// A mutex that was looked at so often is worth more than sums.
constexpr std::uint64_t worth_detail = 4;

std::uint64_t involuntary_switches() {
  rusage used{};
  native_env::system_call(SYS_getrusage, RUSAGE_THREAD, native_env::argument(&used));
  return static_cast<std::uint64_t>(used.ru_nivcsw);
}

void note_moment(profile_buffer& target, thread_slot& thread, std::uint16_t kind, const record& of,
                 std::uint64_t caller, std::uint64_t begin, std::uint64_t end) {
  const std::uint32_t used = target.moment_blocks_used.load(std::memory_order_relaxed);
  constexpr std::uint32_t blocks =
      profile_buffer::moment_numbers / profile_buffer::moments_in_block;
  // The fuller, the seldomer, so that a long run has a timeline to its end.
  const std::uint32_t shift = used < blocks ? used * 8 / blocks : 8;
  if (end - thread.last_moment < moment_every() << shift) {
    return;
  }
  if (thread.moments_left == 0) {
    if (used >= blocks) {
      return;
    }
    const std::uint32_t taken = target.moment_blocks_used.fetch_add(1, std::memory_order_relaxed);
    if (taken >= blocks) {
      return;
    }
    thread.next_moment = std::uint64_t{taken} * profile_buffer::moments_in_block;
    thread.moments_left = profile_buffer::moments_in_block;
  }
  thread.last_moment = end;
  --thread.moments_left;
  const std::uint64_t at = thread.next_moment++;
  // Threads that share a place may both have taken the last of its block.
  if (at >= profile_buffer::moment_numbers) {
    return;
  }
  target.moments[at] = {.begin = begin,
                        .end = end,
                        .caller = caller,
                        .record = number_of(target, of),
                        .thread = static_cast<std::uint16_t>(thread.number),
                        .kind = kind};
}

/// From the thread to the record, of which the caller need not be the holder.
void put_waits(profile_buffer& target, thread_slot& thread) {
  if (thread.waits == 0) {
    return;
  }
  record& of = target.records[thread.waited_for - 1];
  __atomic_fetch_add(&of.contended, thread.waits, __ATOMIC_RELAXED);
  __atomic_fetch_add(&of.waited, thread.waited, __ATOMIC_RELAXED);
  thread.waits = 0;
  thread.waited = 0;
}

void note_thread(record& of, const thread_slot& thread) {
  const std::uint32_t bit = thread.number % 192;
  of.threads[bit / 64] |= std::uint64_t{1} << bit % 64;
}

}  // namespace

std::uint32_t stack_in_turn(profile_buffer& target, thread_slot& thread, const record& of,
                            std::uint64_t caller, std::uint64_t now) {
  if (now - thread.last_stack < stack_every() || thread.is_walking != 0) {
    return 0;
  }
  thread.last_stack = now;
  thread.is_walking = 1;
  const std::uint32_t number = walk(target, number_of(target, of), caller);
  thread.is_walking = 0;
  return number;
}

std::uint32_t init_stack_in_turn(init_table& inits, thread_slot& thread, std::uint32_t at,
                                 std::uint64_t caller) {
  if (thread.is_walking != 0) {
    return 0;
  }
  init_site& of = inits.sites[at - 1];
  if (of.walked.load(std::memory_order_relaxed) < always_walked) {
    of.walked.fetch_add(1, std::memory_order_relaxed);
  } else if (const std::uint64_t now = ticks(); now - last_init_walk < init_stack_every()) {
    return 0;
  } else {
    last_init_walk = now;
  }
  thread.is_walking = 1;
  const std::uint32_t number = walk_init_stack(inits, at, caller);
  thread.is_walking = 0;
  return number;
}

void note_failure(profile_buffer& target, thread_slot& thread, mutex_words& mutex,
                  std::uint64_t caller) {
  ++thread.failed_trylocks;
  const record& of = record_of(target, mutex, caller);
  const std::uint32_t number = number_of(target, of) + 1;
  if (thread.failing != number) {
    if (thread.failing != 0) {
      target.records[thread.failing - 1].failed_trylocks.fetch_add(thread.failures,
                                                                   std::memory_order_relaxed);
    }
    thread.failures = 0;
    thread.failing = number;
  }
  ++thread.failures;
}

std::uint32_t count_wait(profile_buffer& target, thread_slot& thread, const record& of,
                         std::uint64_t waited, bool is_looked_into) {
  const std::uint32_t number = number_of(target, of) + 1;
  if (thread.waited_for != number) {
    put_waits(target, thread);
    thread.waited_for = number;
  }
  ++thread.waits;
  thread.waited += waited;
  const bool is_long = waited >= wait_every();
  if (is_long || is_looked_into) {
    put_waits(target, thread);
  }
  if (is_long) {
    return 1;
  }
  ++thread.short_waits;
  return is_looked_into ? std::exchange(thread.short_waits, 0) : 0;
}

void note_wait(profile_buffer& target, thread_slot& thread, record& of, const mutex_words& mutex,
               const wait& seen) {
  const std::uint64_t weight = seen.weight;
  const std::uint64_t waited = seen.end - seen.begin;
  ++of.waits;
  of.most_waiting = seen.others >= of.most_waiting ? seen.others + 1 : of.most_waiting;
  note_thread(of, thread);
  const bool is_next = seen.for_hand_over != 0 && !seen.in_vain &&
                       __atomic_load_n(&mutex.site, __ATOMIC_RELAXED) == 0 &&
                       of.released > seen.begin;
  mutex_detail* more = detail_of(target, of);
  if (more != nullptr) {
    more->waiting.add(waited, weight);
    constexpr std::uint32_t last = mutex_detail::arrival_numbers - 1;
    more->arrivals[seen.others < last ? seen.others : last] += weight;
    const std::uint32_t here = call_site_of(target, *more, seen.caller);
    if (here != 0) {
      more->sites[here - 1].contended += weight;
      more->sites[here - 1].waited += weight * waited;
    }
    const std::uint32_t there = call_site_of(target, *more, seen.holder);
    if (wait_edge* pair = wait_edge_of(*more, there, here); pair != nullptr) {
      pair->times += weight;
      pair->waited += weight * waited;
    }
  }
  if (seen.stack != 0) {
    stack& walked = target.stacks[seen.stack - 1];
    walked.waits.fetch_add(1, std::memory_order_relaxed);
    walked.waited.fetch_add(waited, std::memory_order_relaxed);
  }
  note_moment(target, thread, moment::wait, of, seen.caller, seen.begin, seen.end);
  if (is_next) {
    // To the end of all this, for so long the program waits for its thread to go on.
    const std::uint64_t handing_over = ticks() - of.released;
    of.hand_overs += seen.for_hand_over;
    of.handed_over += seen.for_hand_over * handing_over;
    if (more != nullptr) {
      more->handing_over.add(handing_over, seen.for_hand_over);
    }
  }
}

void begin_hold(profile_buffer& target, thread_slot& thread, record& of, mutex_words& mutex,
                const acquisition& seen) {
  thread.last_record = number_of(target, of) + std::uint64_t{1};
  of.acquisitions += seen.weight;
  ++of.samples;
  of.tried += seen.tried ? seen.weight : 0;
  note_thread(of, thread);
  // The record of many mutexes does not know who had this one.
  const bool is_known =
      seen.previous != 0 || (of.last_thread != 0 && (of.kind & record::is_shared) == 0);
  const bool is_same =
      seen.previous != 0 ? seen.previous == thread.tid : of.last_thread == thread.number + 1;
  of.owner_changes += is_known && !is_same ? 1 : 0;
  of.last_thread = thread.number + 1;
  of.hold_site = 0;
  if (of.detail != 0 || of.samples >= worth_detail) {
    if (mutex_detail* more = detail_of(target, of); more != nullptr) {
      of.hold_site = call_site_of(target, *more, seen.caller);
      if (of.hold_site != 0) {
        more->sites[of.hold_site - 1].acquisitions += seen.weight;
      }
    }
  }
  of.hold_weight = seen.weight;
  of.hold_stack = seen.stack;
  of.usage_begin = 0;
  if (thread.last_sample - thread.last_usage > usage_every()) {
    thread.last_usage = thread.last_sample;
    of.usage_begin = involuntary_switches() + 1;
  }
  resume_hold(of, mutex, seen.caller);
}

void resume_hold(record& of, mutex_words& mutex, std::uint64_t caller) {
  __atomic_store_n(&mutex.site, caller | is_timed, __ATOMIC_RELAXED);
  of.hold_begin = ticks();
}

void end_hold(mutex_words& mutex, std::uint64_t releaser) {
  const std::uint64_t now = ticks();
  profile_buffer* target = attached();
  const std::uint64_t caller = mutex.site & address_bits;
  __atomic_store_n(&mutex.site, caller, __ATOMIC_RELAXED);
  record* known = target == nullptr ? nullptr : known_record(*target, mutex);
  if (known == nullptr) {
    return;
  }
  record& of = *known;
  of.released = now;
  __atomic_store_n(&mutex.site, 0, __ATOMIC_RELAXED);
  const std::uint64_t held = now - of.hold_begin;
  const std::uint64_t weight = of.hold_weight;
  of.holds += weight;
  of.held += weight * held;
  ++of.hold_samples;
  if (of.detail != 0) {
    mutex_detail& more = target->details[of.detail - 1];
    more.holding.add(held, weight);
    if (of.hold_site != 0) {
      call_site& from = more.sites[of.hold_site - 1];
      from.held += weight * held;
      if (releaser != 0 && from.releaser != releaser) {
        from.releaser = releaser;
        note_module(*target, releaser);
      }
    }
  }
  if (of.hold_stack != 0) {
    stack& walked = target->stacks[of.hold_stack - 1];
    walked.holds.fetch_add(1, std::memory_order_relaxed);
    walked.held.fetch_add(held, std::memory_order_relaxed);
    of.hold_stack = 0;
  }
  if (of.usage_begin != 0) {
    ++of.usage_samples;
    of.usage_preempted += involuntary_switches() + 1 != of.usage_begin ? 1 : 0;
    of.usage_begin = 0;
  }
  if (this_slot != &unassigned_slot) {
    note_moment(*target, *this_slot, moment::hold, of, caller, of.hold_begin, now);
  }
}

void note_release(mutex_words& mutex) {
  if (mutex.site == 0 || __atomic_load_n(&mutex.number, __ATOMIC_RELAXED) < one_measured) {
    return;
  }
  profile_buffer* target = attached();
  record* known = target == nullptr ? nullptr : known_record(*target, mutex);
  if (known == nullptr) {
    return;
  }
  __atomic_store_n(&mutex.site, 0, __ATOMIC_RELAXED);
  known->released = ticks();
}

}  // namespace lockwright::probe
