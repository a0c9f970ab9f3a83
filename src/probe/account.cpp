#include "probe/account.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lockwright/env/native/sandbox.hpp"
#include "probe/clock.hpp"
#include "probe/records.hpp"
#include "probe/stacks.hpp"
#include "probe/state.hpp"

namespace lockwright::probe {
namespace {

/// The intervals of a thread's expensive measurements, in ticks: a stack walk takes microseconds,
/// the system calls for its use of processors one; timeline spans only need to be drawn.
std::uint64_t stack_interval() { return 2000 * ticks_per_microsecond(); }
std::uint64_t usage_interval() { return 2000 * ticks_per_microsecond(); }
std::uint64_t span_interval() { return 300 * ticks_per_microsecond(); }

/// The interval of walks of initialisation stacks; the first of each site are all walked.
std::uint64_t init_stack_interval() { return 200 * ticks_per_microsecond(); }
constexpr std::uint32_t always_walked = 64;
thread_local constinit std::uint64_t last_init_walk = 0;

/// Samples after which a mutex gets details beyond sums; and a hold after which it does, since others
/// may have waited for its end.
constexpr std::uint64_t samples_for_detail = 4;
std::uint64_t long_hold() { return 1000 * ticks_per_microsecond(); }

/// A thread's use of processors: its context switches, and the time that it ran before the
/// kernel's last tick or its last switch.
struct usage {
  std::uint64_t voluntary;
  std::uint64_t involuntary;
  std::uint64_t ran_ns;
};

std::uint64_t in_ns(const timeval& time) {
  return (static_cast<std::uint64_t>(time.tv_sec) * 1000000 +
          static_cast<std::uint64_t>(time.tv_usec)) *
         1000;
}

/// Returns false, and nothing, if the program has restricted its system calls.
bool get_usage(usage& of_caller) {
  rusage used{};
  const auto ask = [&used] {
    native_env::system_call(SYS_getrusage, RUSAGE_THREAD, native_env::argument(&used));
  };
  if (!native_env::unless_filtered(ask, native_env::filter::inherited)) {
    return false;
  }
  of_caller = {.voluntary = static_cast<std::uint64_t>(used.ru_nvcsw),
               .involuntary = static_cast<std::uint64_t>(used.ru_nivcsw),
               .ran_ns = in_ns(used.ru_utime) + in_ns(used.ru_stime)};
  return true;
}

/// Returns the time for which the caller has run until now. The kernel ends the caller's time slice
/// here if it is over, so it is not called where that would cause a preemption in a section.
std::uint64_t ran_until_now(std::uint64_t otherwise) {
  timespec ran{};
  const auto ask = [&ran] {
    native_env::system_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, native_env::argument(&ran));
  };
  if (!native_env::unless_filtered(ask, native_env::filter::inherited)) {
    return otherwise;
  }
  return static_cast<std::uint64_t>(ran.tv_sec) * 1000000000 +
         static_cast<std::uint64_t>(ran.tv_nsec);
}

/// Stores the holder's use of processors at the beginning of a section.
void begin_usage(record& entry, const thread_slot& thread) {
  usage now{};
  if (!get_usage(now)) {
    entry.usage_begin = 0;
    return;
  }
  entry.usage_begin = now.involuntary + 1;
  entry.usage_voluntary = now.voluntary;
  entry.usage_ran = now.ran_ns;
  entry.usage_waited = thread.all_waited;
}

/// Adds the section of the holder that ends at `now` to the sums of its mutex: how long it slept in
/// it, other than for a lock. Where it was preempted too, that is its part in the switches. What it
/// ran between the last tick and the section counts as in the section, so that is a lower bound.
void end_usage(const profile_buffer& target, record& entry, const thread_slot& thread,
               std::uint64_t now) {
  usage at_end{};
  if (!get_usage(at_end)) {
    return;
  }
  // A later thread may have the slot of the holder, and clocks of processors differ a little.
  if (at_end.involuntary + 1 < entry.usage_begin || at_end.voluntary < entry.usage_voluntary ||
      now < entry.hold_begin) {
    return;
  }
  const std::uint64_t preempted = at_end.involuntary + 1 - entry.usage_begin;
  const std::uint64_t slept = at_end.voluntary - entry.usage_voluntary;
  const std::uint64_t held = now - entry.hold_begin;
  ++entry.usage_samples;
  entry.usage_preempted += preempted != 0 ? 1 : 0;
  entry.usage_held += entry.hold_weight * held;
  if (slept == 0) {
    return;
  }
  const std::uint64_t ran = ran_until_now(at_end.ran_ns) - entry.usage_ran;
  const double ticks_per_ns =
      static_cast<double>(now - target.begin_ticks) /
      static_cast<double>(std::max<std::uint64_t>(monotonic_ns() - target.begin_ns, 1));
  const double away = static_cast<double>(held) - static_cast<double>(ran) * ticks_per_ns -
                      static_cast<double>(thread.all_waited - entry.usage_waited);
  if (away > 0) {
    entry.usage_slept += static_cast<std::uint64_t>(static_cast<double>(entry.hold_weight) * away *
                                                    static_cast<double>(slept) /
                                                    static_cast<double>(slept + preempted));
  }
}

void note_span(profile_buffer& target, thread_slot& thread, std::uint16_t kind, const record& entry,
               std::uint64_t caller, std::uint64_t begin, std::uint64_t end) {
  const std::uint32_t used = target.span_blocks_used.load(std::memory_order_relaxed);
  constexpr std::uint32_t blocks = profile_buffer::span_numbers / profile_buffer::spans_in_block;
  // The fuller the buffer, the longer the interval, so that a long run has a timeline to its end.
  const std::uint32_t shift = used < blocks ? used * 8 / blocks : 8;
  if (end - thread.last_span < span_interval() << shift) {
    return;
  }
  if (thread.spans_left == 0) {
    if (used >= blocks) {
      return;
    }
    const std::uint32_t taken = target.span_blocks_used.fetch_add(1, std::memory_order_relaxed);
    if (taken >= blocks) {
      return;
    }
    thread.next_span = std::uint64_t{taken} * profile_buffer::spans_in_block;
    thread.spans_left = profile_buffer::spans_in_block;
  }
  thread.last_span = end;
  --thread.spans_left;
  const std::uint64_t index = thread.next_span++;
  // Threads that share a slot may both have taken the last span of its block.
  if (index >= profile_buffer::span_numbers) {
    return;
  }
  target.spans[index] = {.begin = begin,
                         .end = end,
                         .caller = caller,
                         .record = number_of(target, entry),
                         .thread = static_cast<std::uint16_t>(thread.number),
                         .kind = kind};
}

/// Adds the thread's waits to the record; the caller need not hold the mutex.
void flush_waits(profile_buffer& target, thread_slot& thread) {
  if (thread.waits == 0) {
    return;
  }
  record& entry = target.records[thread.waited_for - 1];
  __atomic_fetch_add(&entry.contended, thread.waits, __ATOMIC_RELAXED);
  __atomic_fetch_add(&entry.waited, thread.waited, __ATOMIC_RELAXED);
  thread.waits = 0;
  thread.waited = 0;
}

/// Adds to a count that other threads may change at the same time.
void add(std::uint64_t& count, std::uint64_t value) {
  __atomic_fetch_add(&count, value, __ATOMIC_RELAXED);
}

void note_thread(record& entry, const thread_slot& thread) {
  const std::uint32_t number = thread.number % 192;
  const std::uint64_t bit = std::uint64_t{1} << number % 64;
  std::uint64_t& word = entry.threads[number / 64];
  if ((__atomic_load_n(&word, __ATOMIC_RELAXED) & bit) == 0) {
    __atomic_fetch_or(&word, bit, __ATOMIC_RELAXED);
  }
}

/// Walks the stack of an initialisation if that is due. Returns its number plus one, or 0.
/// site_number: of the initialisation site, plus one.
std::uint32_t init_stack_if_due(init_table& inits, thread_slot& thread, std::uint32_t site_number,
                                std::uint64_t caller) {
  if (thread.is_walking != 0) {
    return 0;
  }
  init_site& site = inits.sites[site_number - 1];
  if (site.walked.load(std::memory_order_relaxed) < always_walked) {
    site.walked.fetch_add(1, std::memory_order_relaxed);
  } else if (const std::uint64_t now = ticks(); now - last_init_walk < init_stack_interval()) {
    return 0;
  } else {
    last_init_walk = now;
  }
  thread.is_walking = 1;
  const std::uint32_t number = walk_init_stack(inits, site_number, caller);
  thread.is_walking = 0;
  return number;
}

}  // namespace

std::uint32_t stack_if_due(profile_buffer& target, thread_slot& thread, const record& entry,
                           std::uint64_t caller, std::uint64_t now) {
  return stack_if_due(target, thread, number_of(target, entry), caller, now);
}

std::uint32_t stack_if_due(profile_buffer& target, thread_slot& thread, std::uint32_t number,
                           std::uint64_t caller, std::uint64_t now, bool is_rare) {
  if ((now - thread.last_stack < stack_interval() && !is_rare) || thread.is_walking != 0) {
    return 0;
  }
  thread.last_stack = now;
  thread.is_walking = 1;
  const std::uint32_t walked = walk(target, number, caller);
  thread.is_walking = 0;
  return walked;
}

void note_init(profile_buffer* target, init_table& inits, thread_slot& thread, std::uint64_t caller,
               std::uint32_t& link, std::uint32_t& number) {
  if (thread.last_caller != caller) {
    thread.last_caller = caller;
    thread.last_init_site = init_site_of(inits, caller);
    if (target != nullptr) {
      note_module(*target, caller);
    }
  }
  const std::uint32_t site = thread.last_init_site;
  if (site != 0) {
    number = inits.sites[site - 1].created.fetch_add(1, std::memory_order_relaxed);
    link = site | init_stack_if_due(inits, thread, site, caller) << init_stack_shift | is_init_site;
  }
}

void note_failure(profile_buffer& target, thread_slot& thread, const record& entry) {
  ++thread.failed_trylocks;
  const std::uint32_t number = number_of(target, entry) + 1;
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

std::uint32_t count_wait(profile_buffer& target, thread_slot& thread, const record& entry,
                         std::uint64_t waited, bool is_measured) {
  const std::uint32_t number = number_of(target, entry) + 1;
  if (thread.waited_for != number) {
    flush_waits(target, thread);
    thread.waited_for = number;
  }
  ++thread.waits;
  thread.waited += waited;
  thread.all_waited += waited;
  const bool is_long = waited >= wait_interval();
  if (is_long || is_measured) {
    flush_waits(target, thread);
  }
  if (is_long) {
    return 1;
  }
  ++thread.short_waits;
  return is_measured ? std::exchange(thread.short_waits, 0) : 0;
}

void note_wait(profile_buffer& target, thread_slot& thread, record& entry, const wait& measured) {
  const std::uint64_t weight = measured.weight;
  const std::uint64_t waited = measured.end - measured.begin;
  add(entry.waits, 1);
  entry.most_waiting = std::max(entry.most_waiting, measured.others + 1);
  note_thread(entry, thread);
  mutex_detail* detail = detail_of(target, entry);
  if (detail != nullptr) {
    detail->waiting.add_shared(waited, weight);
    constexpr std::uint32_t last = mutex_detail::arrival_numbers - 1;
    add(detail->arrivals[measured.others < last ? measured.others : last], weight);
    const std::uint32_t waiter_site = call_site_of(target, *detail, measured.caller);
    if (waiter_site != 0) {
      add(detail->sites[waiter_site - 1].contended, weight);
      add(detail->sites[waiter_site - 1].waited, weight * waited);
    }
    const std::uint32_t holder_site = call_site_of(target, *detail, measured.holder);
    if (wait_edge* pair = wait_edge_of(*detail, holder_site, waiter_site); pair != nullptr) {
      add(pair->times, weight);
      add(pair->waited, weight * waited);
    }
  }
  if (measured.stack != 0) {
    stack& walked = target.stacks[measured.stack - 1];
    walked.waits.fetch_add(1, std::memory_order_relaxed);
    walked.waited.fetch_add(waited, std::memory_order_relaxed);
  }
  note_span(target, thread, span::wait, entry, measured.caller, measured.begin, measured.end);
  if (measured.handover_weight != 0) {
    // Until now, because the program waits that long for its thread to continue.
    const std::uint64_t handing_over = ticks() - entry.released;
    entry.hand_overs += measured.handover_weight;
    entry.handed_over += measured.handover_weight * handing_over;
    if (detail != nullptr) {
      detail->handing_over.add(handing_over, measured.handover_weight);
    }
  }
}

void note_error(record& entry, std::uint32_t passed_over, bool has_waited) {
  __atomic_fetch_add(&entry.given_up, has_waited ? 1 : 0, __ATOMIC_RELAXED);
  add(entry.acquisitions, passed_over);
}

void look_at_count(record& entry, const mutex_words& mutex) {
  // The child of a fork does not know which acquisitions were its parent's.
  entry.counted = counts(mutex) && !is_forked() ? mutex.taken : 0;
}

void begin_hold(profile_buffer& target, thread_slot& thread, record& entry, mutex_words& mutex,
                const acquisition& sampled) {
  thread.last_record = number_of(target, entry) + std::uint64_t{1};
  look_at_count(entry, mutex);
  entry.acquisitions += sampled.weight;
  ++entry.samples;
  entry.tried += sampled.by_trylock ? sampled.weight : 0;
  note_thread(entry, thread);
  // A shared record does not give the last holder of this mutex.
  const bool is_known =
      sampled.previous != 0 || (entry.last_thread != 0 && (entry.kind & record::is_shared) == 0);
  const bool is_same = sampled.previous != 0 ? sampled.previous == thread.tid
                                             : entry.last_thread == thread.number + 1;
  entry.owner_changes += is_known && !is_same ? 1 : 0;
  entry.last_thread = thread.number + 1;
  entry.hold_site = 0;
  if (entry.detail != 0 || entry.samples >= samples_for_detail) {
    if (mutex_detail* detail = detail_of(target, entry); detail != nullptr) {
      entry.hold_site = call_site_of(target, *detail, sampled.caller);
      if (entry.hold_site != 0) {
        detail->sites[entry.hold_site - 1].acquisitions += sampled.weight;
      }
    }
  }
  entry.hold_weight = sampled.weight;
  entry.hold_stack = sampled.stack;
  entry.usage_begin = 0;
  if (thread.last_sample - thread.last_usage > usage_interval()) {
    thread.last_usage = thread.last_sample;
    begin_usage(entry, thread);
  }
  resume_hold(entry, mutex, sampled.caller);
}

void resume_hold(record& entry, mutex_words& mutex, std::uint64_t caller) {
  __atomic_store_n(&mutex.site, caller | is_timed, __ATOMIC_RELAXED);
  entry.hold_begin = ticks();
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
  record& entry = *known;
  entry.released = now;
  __atomic_store_n(&mutex.site, 0, __ATOMIC_RELAXED);
  const std::uint64_t held = now - entry.hold_begin;
  const std::uint64_t weight = entry.hold_weight;
  entry.holds += weight;
  entry.held += weight * held;
  ++entry.hold_samples;
  mutex_detail* detail =
      entry.detail != 0 || held >= long_hold() ? detail_of(*target, entry) : nullptr;
  if (detail != nullptr) {
    detail->holding.add(held, weight);
    if (entry.hold_site == 0) {
      entry.hold_site = call_site_of(*target, *detail, caller);
      if (entry.hold_site != 0) {
        detail->sites[entry.hold_site - 1].acquisitions += weight;
      }
    }
    if (entry.hold_site != 0) {
      call_site& from = detail->sites[entry.hold_site - 1];
      from.held += weight * held;
      if (releaser != 0 && from.releaser != releaser) {
        from.releaser = releaser;
        note_module(*target, releaser);
      }
    }
  }
  if (entry.hold_stack != 0) {
    stack& walked = target->stacks[entry.hold_stack - 1];
    walked.holds.fetch_add(1, std::memory_order_relaxed);
    walked.held.fetch_add(held, std::memory_order_relaxed);
    entry.hold_stack = 0;
  }
  // Another thread that releases it knows nothing of the holder's use.
  if (entry.usage_begin != 0 && entry.last_thread == this_slot->number + 1) {
    end_usage(*target, entry, *this_slot, now);
  }
  entry.usage_begin = 0;
  if (this_slot != &unassigned_slot) {
    note_span(*target, *this_slot, span::hold, entry, caller, entry.hold_begin, now);
  }
}

void begin_section(profile_buffer& target, thread_slot& thread, record& entry,
                   const rwlock_words& lock, const acquisition& sampled) {
  sampler& of = (entry.kind & record::of_readers) != 0 ? thread.reads : thread.writes;
  of.last_record = number_of(target, entry) + std::uint64_t{1};
  add(entry.acquisitions, sampled.weight);
  add(entry.samples, 1);
  add(entry.tried, sampled.by_trylock ? sampled.weight : 0);
  note_thread(entry, thread);
  std::uint32_t site = 0;
  if (entry.detail != 0 || entry.samples >= samples_for_detail) {
    if (mutex_detail* detail = detail_of(target, entry); detail != nullptr) {
      site = call_site_of(target, *detail, sampled.caller);
      if (site != 0) {
        add(detail->sites[site - 1].acquisitions, sampled.weight);
      }
    }
  }
  for (timed_section& each : thread.sections) {
    if (each.lock == 0) {
      ++thread.open_sections;
      each = {.lock = reinterpret_cast<std::uint64_t>(&lock),
              .begin = ticks(),
              .record = number_of(target, entry),
              .weight = sampled.weight,
              .site = site,
              .stack = sampled.stack};
      return;
    }
  }
  // Sections that another thread ended, which POSIX forbids, must not occupy the table forever.
  std::memset(static_cast<void*>(thread.sections), 0, sizeof thread.sections);
  thread.open_sections = 0;
}

void end_section(profile_buffer& target, thread_slot& thread, const rwlock_words& lock,
                 std::uint64_t releaser) {
  const std::uint64_t now = ticks();
  for (timed_section& each : thread.sections) {
    if (each.lock != reinterpret_cast<std::uint64_t>(&lock)) {
      continue;
    }
    const timed_section ended = std::exchange(each, {});
    --thread.open_sections;
    record& entry = target.records[ended.record];
    const std::uint64_t held = now - ended.begin;
    const std::uint64_t weight = ended.weight;
    add(entry.holds, weight);
    add(entry.held, weight * held);
    add(entry.hold_samples, 1);
    if (entry.detail != 0) {
      mutex_detail& detail = target.details[entry.detail - 1];
      detail.holding.add_shared(held, weight);
      if (ended.site != 0) {
        call_site& from = detail.sites[ended.site - 1];
        add(from.held, weight * held);
        if (from.releaser != releaser) {
          from.releaser = releaser;
          note_module(target, releaser);
        }
      }
    }
    if (ended.stack != 0) {
      stack& walked = target.stacks[ended.stack - 1];
      walked.holds.fetch_add(1, std::memory_order_relaxed);
      walked.held.fetch_add(held, std::memory_order_relaxed);
    }
    return;
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
