#include "probe/state.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "interpose/real.hpp"
#include "interpose/thread_number.hpp"
#include "probe/buffer_files.hpp"
#include "probe/records.hpp"

extern "C" void* __dso_handle;

namespace lockwright::probe {
namespace {

/// detached: the process has no file yet; unprofiled: and will have none.
enum class attachment : std::uint32_t { unknown, attaching, attached, detached, unprofiled };

constinit std::atomic<attachment> process{attachment::unknown};
constinit profile_buffer* attached_buffer = nullptr;

/// The buffer mapped when this library was loaded, which takes a millisecond; not yet claimed.
constinit profile_buffer* prepared = nullptr;

/// The buffer of the first process.
constinit profile_buffer* first = nullptr;

/// The buffer of the parent, if it had one: mutexes initialised there have numbers of its sites.
constinit profile_buffer* inherited = nullptr;

/// The entry of this process in the first buffer, once it has locked a mutex.
constinit std::atomic<other_process*> own_entry{nullptr};

/// The acquisitions of a process without a buffer, as far as its threads have added them up; and
/// those not yet in the first buffer.
constinit std::atomic<std::uint32_t> added_up{0};
constinit std::atomic<std::uint32_t> unreported{0};

/// The initialisation sites of a process without a buffer; the inherited ones until `is_early`.
constinit init_table early{};
constinit std::atomic<bool> is_early{false};

/// Copies the inherited sites. Most such processes have one thread: the first initialisations of
/// a second one may be lost.
void begin_early() {
  if (!is_early.exchange(true) && inherited != nullptr) {
    std::memcpy(static_cast<void*>(&early), &inherited->inits, sizeof early);
  }
}

/// Moves the early sites into the buffer, with the files of their addresses.
void move_early(profile_buffer& target) {
  begin_early();
  std::memcpy(static_cast<void*>(&target.inits), &early, sizeof early);
  for (const init_site& each : early.sites) {
    if (each.caller != 0) {
      note_module(target, each.caller);
    }
  }
  for (const init_stack& each : early.stacks) {
    for (std::uint32_t i = 0; i < each.frames; ++i) {
      note_module(target, each.pcs[i]);
    }
  }
}

/// The slot of a thread in a process without a buffer.
thread_local constinit thread_slot local_slot{};

/// A countdown that practically never ends.
constexpr std::int32_t longest_countdown = 0x7fffffff;

/// Returns the calling thread's acquisitions since its countdown began.
std::uint32_t acquisitions_in_countdown() {
  return local_slot.drawn == 0
             ? 0
             : local_slot.drawn - 1 - static_cast<std::uint32_t>(local_slot.countdown);
}

/// Acquisitions between two checks while another thread maps a buffer.
constexpr std::uint32_t attaching_interval = 64;

/// Begins the next countdown: checks at each acquisition at first, then whenever they have doubled.
void restart_countdown(std::uint32_t taken) {
  const bool is_attaching = process.load(std::memory_order_relaxed) == attachment::attaching;
  const std::uint32_t left =
      is_attaching ? attaching_interval
                   : acquisitions_for_file - std::min(taken, acquisitions_for_file - 1);
  local_slot.drawn =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(local_slot.acquisitions, 1, left));
  local_slot.countdown = static_cast<std::int32_t>(local_slot.drawn) - 1;
}

/// Moves the counts of the calling thread's local slot into the buffer.
void move_local_slot(profile_buffer& target, thread_slot& slot) {
  slot.rwlock_calls += local_slot.rwlock_calls;
  slot.spin_calls += local_slot.spin_calls;
  slot.mmap_calls += local_slot.mmap_calls;
  slot.cond_waits += local_slot.cond_waits;
  slot.unprofiled += local_slot.unprofiled;
  slot.created += local_slot.created;
  slot.destroyed += local_slot.destroyed;
  if (local_slot.created != 0) {
    __atomic_fetch_add(&target.creations.weights[0], local_slot.created, __ATOMIC_RELAXED);
  }
  // If the countdown has ended, the present acquisition is counted at the new slot.
  slot.acquisitions +=
      local_slot.acquisitions + acquisitions_in_countdown() - (local_slot.countdown < 0 ? 1 : 0);
  local_slot = {};
}

/// The longest sampling period, in acquisitions; it is 1 for a thread that seldom locks a mutex.
constexpr std::uint32_t max_period = 1 << 16;

void note_clocks(thread_slot& thread) {
  const instant now = both_clocks();
  thread.clock_ns = now.ns;
  thread.clock_ticks = now.ticks;
}

/// Draws the next countdown of `of` at `now`; returns the sampling weight of the present
/// acquisition. thread: for its random numbers.
template <class Countdown>
std::uint32_t draw(Countdown& of, thread_slot& thread, std::uint64_t now) {
  const std::uint32_t weight = of.drawn;
  of.acquisitions += weight;
  const std::uint64_t gap = now - of.last_sample;
  if (gap < sample_interval() && of.period < max_period) {
    of.period *= 2;
  } else if (gap > 3 * sample_interval() && of.period > 1) {
    of.period /= 2;
  }
  of.last_sample = now;
  // From half to one and a half periods, so that samples do not coincide with a period of the
  // program.
  of.drawn = of.period <= 1 ? 1 : of.period / 2 + 1 + next_random(thread) % of.period;
  of.countdown = static_cast<std::int32_t>(of.drawn) - 1;
  return weight;
}

/// Detaches the child of a fork from the parent's buffer.
void in_child() {
  if (first == nullptr) {
    return;
  }
  prepared = first;
  if (attached_buffer != nullptr) {
    inherited = attached_buffer;
    is_early = false;
  }
  attached_buffer = nullptr;
  own_entry = nullptr;
  added_up = 0;
  unreported = 0;
  process.store(attachment::unknown, std::memory_order_relaxed);
  local_slot = {};
  this_slot = &unassigned_slot;
}

}  // namespace

constinit thread_slot unassigned_slot{};
thread_local constinit thread_slot* this_slot = &unassigned_slot;

profile_buffer* attached() {
  return process.load(std::memory_order_acquire) == attachment::attached ? attached_buffer
                                                                         : nullptr;
}

profile_buffer* attach() {
  attachment present = process.load(std::memory_order_acquire);
  // Without an environment the C library has not started: earlier acquisitions are not recorded.
  if (present == attachment::unknown && environ != nullptr &&
      process.compare_exchange_strong(present, attachment::attaching)) {
    first = prepared != nullptr ? prepared : map_first();
    const bool is_ours = first != nullptr && claim(*first);
    attached_buffer = is_ours ? first : nullptr;
    const attachment otherwise = first != nullptr ? attachment::detached : attachment::unprofiled;
    process.store(is_ours ? attachment::attached : otherwise, std::memory_order_release);
  }
  return attached();
}

void prepare() {
  if (process.load(std::memory_order_acquire) == attachment::unknown) {
    prepared = first = map_first();
  }
  if (first != nullptr) {
    first->loaded.record_process();
  }
  interpose::real.register_atfork(nullptr, nullptr, in_child, static_cast<void*>(&__dso_handle));
}

thread_slot& assign_slot() {
  profile_buffer* target = attach();
  thread_slot* slot = &local_slot;
  if (target != nullptr) {
    const std::uint32_t number = target->threads_used.fetch_add(1, std::memory_order_relaxed) %
                                 profile_buffer::thread_numbers;
    slot = &target->threads[number];
    slot->number = number;
  }
  slot->tid = interpose::thread_number();
  const attachment present = process.load(std::memory_order_relaxed);
  if (slot == &local_slot) {
    slot->number = no_number;
    // Another thread may have attached just now.
    const bool may_attach = present != attachment::unknown && present != attachment::unprofiled;
    slot->drawn = may_attach ? 1 : 0;
    slot->countdown = may_attach ? 0 : longest_countdown;
  } else {
    const std::uint64_t now = ticks();
    slot->period = 1;
    slot->drawn = 1;
    slot->waits_period = 1;
    slot->waits_drawn = 1;
    slot->waits_countdown = 1;
    slot->random = slot->tid * 2654435761U | 1;
    slot->began = now;
    // The first acquisition gives no interval.
    slot->last_sample = now - 2 * sample_interval();
    slot->last_wait = now - 2 * wait_interval();
    note_clocks(*slot);
    // A thread without a slot counts at the unassigned slot; the present acquisition is the first
    // in its own slot.
    slot->countdown = -1;
    for (sampler* each : {&slot->reads, &slot->writes}) {
      *each = {.countdown = -1,
               .drawn = 1,
               .period = 1,
               .samples = 0,
               .acquisitions = 0,
               .last_sample = slot->last_sample};
    }
    move_local_slot(*target, *slot);
  }
  // Not before the C library has started: the thread then calls again.
  if (target != nullptr || present != attachment::unknown) {
    this_slot = slot;
  }
  return *slot;
}

init_table* early_inits() {
  if (process.load(std::memory_order_relaxed) != attachment::detached) {
    return nullptr;
  }
  begin_early();
  return &early;
}

profile_buffer* request_buffer(bool regardless) {
  if (this_slot != &local_slot ||
      process.load(std::memory_order_acquire) == attachment::unprofiled) {
    local_slot.countdown = longest_countdown;
    return attached();
  }
  const std::uint32_t passed = acquisitions_in_countdown();
  local_slot.acquisitions += passed;
  const std::uint32_t taken = added_up.fetch_add(passed) + passed;
  unreported.fetch_add(passed);
  restart_countdown(taken);
  attachment present = attachment::detached;
  if (process.compare_exchange_strong(present, attachment::attaching)) {
    if (own_entry.load() == nullptr) {
      own_entry = &note_other_process(*first);
    }
    present = attachment::detached;
    if (regardless || gets_file(*first, taken)) {
      attached_buffer = fill_own_file(*first);
      present = attached_buffer != nullptr ? attachment::attached : attachment::unprofiled;
    }
    if (present == attachment::attached) {
      move_early(*attached_buffer);
      // The present acquisition is counted in the buffer.
      local_slot.acquisitions -= regardless ? 0 : 1;
    } else if (present == attachment::unprofiled) {
      own_entry.load()->taken.fetch_or(other_process::is_unseen);
    }
    process.store(present, std::memory_order_release);
  }
  if (other_process* self = own_entry.load(); self != nullptr) {
    self->taken.fetch_add(unreported.exchange(0));
  }
  if (present == attachment::unprofiled) {
    local_slot.countdown = longest_countdown;
  }
  return attached();
}

std::uint32_t next_sample(thread_slot& thread, std::uint64_t now) {
  const std::uint32_t weight = draw(thread, thread, now);
  if (now - thread.clock_ticks > 200 * ticks_per_microsecond()) {
    note_clocks(thread);
  }
  return weight;
}

std::uint32_t next_sample(thread_slot& thread, sampler& of, std::uint64_t now) {
  ++of.samples;
  return draw(of, thread, now);
}

std::uint32_t next_wait(thread_slot& thread, std::uint64_t now) {
  const std::uint32_t weight = thread.waits_drawn;
  const std::uint64_t gap = now - thread.last_wait;
  if (gap < wait_interval() && thread.waits_period < max_period) {
    thread.waits_period *= 2;
  } else if (gap > 3 * wait_interval() && thread.waits_period > 1) {
    thread.waits_period /= 2;
  }
  thread.last_wait = now;
  thread.waits_drawn = thread.waits_period <= 1 ? 1
                                                : thread.waits_period / 2 + 1 +
                                                      next_random(thread) % thread.waits_period;
  thread.waits_countdown = thread.waits_drawn;
  return weight;
}

}  // namespace lockwright::probe
