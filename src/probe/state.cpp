#include "probe/state.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "interpose/real.hpp"
#include "interpose/thread_number.hpp"
#include "probe/family.hpp"
#include "probe/records.hpp"

extern "C" void* __dso_handle;

namespace lockwright::probe {
namespace {

/// apart: it has no file yet; alone: and will have none.
enum class standing : std::uint32_t { unknown, attaching, attached, apart, alone };

constinit std::atomic<standing> process{standing::unknown};
constinit profile_buffer* attached_buffer = nullptr;

/// Mapped when this library was loaded, since that takes a millisecond; not yet claimed.
constinit profile_buffer* prepared = nullptr;

/// Of the process that came first.
constinit profile_buffer* first = nullptr;

/// Of the process that this one was forked from, if it had one; its mutexes bear the numbers of
/// places in it.
constinit profile_buffer* inherited = nullptr;

/// Of this process in the first buffer, if it has said that it takes mutexes.
constinit std::atomic<other_process*> as_other{nullptr};

/// Acquisitions of threads that nobody reads, as far as they have looked around; and what of it
/// does not stand in the first buffer yet.
constinit std::atomic<std::uint32_t> looked{0};
constinit std::atomic<std::uint32_t> unsaid{0};

/// What has inits without a buffer; until `is_early` that is what stands in the inherited one.
constinit init_table early{};
constinit std::atomic<bool> is_early{false};

/// Begins with what was inherited. A process of one thread, mostly: a second one's first
/// initialisations may be lost.
void begin_early() {
  if (!is_early.exchange(true) && inherited != nullptr) {
    std::memcpy(static_cast<void*>(&early), &inherited->inits, sizeof early);
  }
}

/// Puts it where it belongs, with the files that its addresses lie in.
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

/// Of a thread that nobody reads.
thread_local constinit thread_slot unread{};

constexpr std::int32_t for_long = 0x7fffffff;

/// Acquisitions since its last look.
std::uint32_t passed_unread() {
  return unread.drawn == 0 ? 0 : unread.drawn - 1 - static_cast<std::uint32_t>(unread.countdown);
}

/// Acquisitions between two looks while another thread makes a buffer.
constexpr std::uint32_t soon = 64;

/// At first at each acquisition, then whenever they have doubled.
void look_again(std::uint32_t taken) {
  const bool is_soon = process.load(std::memory_order_relaxed) == standing::attaching;
  const std::uint32_t left = is_soon ? soon : worth_a_file - std::min(taken, worth_a_file - 1);
  unread.drawn =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(unread.acquisitions, 1, left));
  unread.countdown = static_cast<std::int32_t>(unread.drawn) - 1;
}

/// Puts what a thread did while nobody read it where it is read.
void move_unread(profile_buffer& target, thread_slot& slot) {
  slot.rwlock_calls += unread.rwlock_calls;
  slot.spin_calls += unread.spin_calls;
  slot.mmap_calls += unread.mmap_calls;
  slot.cond_waits += unread.cond_waits;
  slot.unprofiled += unread.unprofiled;
  slot.created += unread.created;
  slot.destroyed += unread.destroyed;
  if (unread.created != 0) {
    __atomic_fetch_add(&target.creations.weights[0], unread.created, __ATOMIC_RELAXED);
  }
  // One that came by the end of its countdown counts the present acquisition at the slot.
  slot.acquisitions += unread.acquisitions + passed_unread() - (unread.countdown < 0 ? 1 : 0);
  unread = {};
}

/// A thread that takes mutexes seldom has each looked at, one that does nothing else one in so
/// many.
constexpr std::uint32_t most_period = 1 << 16;

void note_clocks(thread_slot& thread) {
  const instant now = both_clocks();
  thread.clock_ns = now.ns;
  thread.clock_ticks = now.ticks;
}

/// A child's buffer is its parent's: it keeps its hands off, and is a process like any other.
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
  as_other = nullptr;
  looked = 0;
  unsaid = 0;
  process.store(standing::unknown, std::memory_order_relaxed);
  unread = {};
  this_slot = &unassigned_slot;
}

}  // namespace

constinit thread_slot unassigned_slot{};
thread_local constinit thread_slot* this_slot = &unassigned_slot;

profile_buffer* attached() {
  return process.load(std::memory_order_acquire) == standing::attached ? attached_buffer : nullptr;
}

profile_buffer* attach() {
  standing present = process.load(std::memory_order_acquire);
  // Without an environment the C library has not started: whoever locks then does so unseen.
  if (present == standing::unknown && environ != nullptr &&
      process.compare_exchange_strong(present, standing::attaching)) {
    first = prepared != nullptr ? prepared : map_first();
    const bool is_ours = first != nullptr && claim(*first);
    attached_buffer = is_ours ? first : nullptr;
    const standing apart = first != nullptr ? standing::apart : standing::alone;
    process.store(is_ours ? standing::attached : apart, std::memory_order_release);
  }
  return attached();
}

void prepare() {
  if (process.load(std::memory_order_acquire) == standing::unknown) {
    prepared = first = map_first();
  }
  if (first != nullptr) {
    first->loaded.note();
  }
  interpose::real.register_atfork(nullptr, nullptr, in_child, static_cast<void*>(&__dso_handle));
}

thread_slot& assign_slot() {
  profile_buffer* target = attach();
  thread_slot* slot = &unread;
  if (target != nullptr) {
    const std::uint32_t number = target->threads_used.fetch_add(1, std::memory_order_relaxed) %
                                 profile_buffer::thread_numbers;
    slot = &target->threads[number];
    slot->number = number;
  }
  slot->tid = interpose::thread_number();
  const standing present = process.load(std::memory_order_relaxed);
  if (slot == &unread) {
    slot->number = no_number;
    // Another thread may have attached just now.
    const bool may_be_read = present != standing::unknown && present != standing::alone;
    slot->drawn = may_be_read ? 1 : 0;
    slot->countdown = may_be_read ? 0 : for_long;
  } else {
    const std::uint64_t now = ticks();
    slot->period = 1;
    slot->drawn = 1;
    slot->waits_period = 1;
    slot->waits_drawn = 1;
    slot->waits_countdown = 1;
    slot->random = slot->tid * 2654435761U | 1;
    // The first acquisition says nothing about how often there is one.
    slot->last_sample = now - 2 * sample_every();
    slot->last_wait = now - 2 * wait_every();
    note_clocks(*slot);
    // A thread without a slot counts at the unassigned slot, and the acquisition that brought
    // it here is the first of its own.
    slot->countdown = -1;
    move_unread(*target, *slot);
  }
  // Before the C library has started, this one comes here again.
  if (target != nullptr || present != standing::unknown) {
    this_slot = slot;
  }
  return *slot;
}

init_table* early_inits() {
  if (process.load(std::memory_order_relaxed) != standing::apart) {
    return nullptr;
  }
  begin_early();
  return &early;
}

profile_buffer* request_buffer(bool is_worth) {
  if (this_slot != &unread || process.load(std::memory_order_acquire) == standing::alone) {
    unread.countdown = for_long;
    return attached();
  }
  const std::uint32_t passed = passed_unread();
  unread.acquisitions += passed;
  const std::uint32_t taken = looked.fetch_add(passed) + passed;
  unsaid.fetch_add(passed);
  look_again(taken);
  standing present = standing::apart;
  if (process.compare_exchange_strong(present, standing::attaching)) {
    if (as_other.load() == nullptr) {
      as_other = &note_other_process(*first);
    }
    present = standing::apart;
    if (is_worth || is_worth_a_file(*first, taken)) {
      attached_buffer = take_own(*first);
      present = attached_buffer != nullptr ? standing::attached : standing::alone;
    }
    if (present == standing::attached) {
      move_early(*attached_buffer);
      // The acquisition that brought it here counts as the first of those that are read.
      unread.acquisitions -= is_worth ? 0 : 1;
    } else if (present == standing::alone) {
      as_other.load()->taken.fetch_or(other_process::is_unseen);
    }
    process.store(present, std::memory_order_release);
  }
  if (other_process* self = as_other.load(); self != nullptr) {
    self->taken.fetch_add(unsaid.exchange(0));
  }
  if (present == standing::alone) {
    unread.countdown = for_long;
  }
  return attached();
}

std::uint32_t next_sample(thread_slot& thread, std::uint64_t now) {
  const std::uint32_t weight = thread.drawn;
  thread.acquisitions += weight;
  const std::uint64_t gap = now - thread.last_sample;
  if (gap < sample_every() && thread.period < most_period) {
    thread.period *= 2;
  } else if (gap > 3 * sample_every() && thread.period > 1) {
    thread.period /= 2;
  }
  thread.last_sample = now;
  // From half the period to one and a half, so that no rhythm of the program's is met.
  thread.drawn =
      thread.period <= 1 ? 1 : thread.period / 2 + 1 + next_random(thread) % thread.period;
  thread.countdown = static_cast<std::int32_t>(thread.drawn) - 1;
  if (now - thread.clock_ticks > 200 * ticks_per_microsecond()) {
    note_clocks(thread);
  }
  return weight;
}

std::uint32_t next_wait(thread_slot& thread, std::uint64_t now) {
  const std::uint32_t weight = thread.waits_drawn;
  const std::uint64_t gap = now - thread.last_wait;
  if (gap < wait_every() && thread.waits_period < most_period) {
    thread.waits_period *= 2;
  } else if (gap > 3 * wait_every() && thread.waits_period > 1) {
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
