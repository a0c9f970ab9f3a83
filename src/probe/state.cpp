#include "probe/state.hpp"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "interpose/program_clock.hpp"
#include "interpose/real.hpp"
#include "interpose/sandbox.hpp"
#include "interpose/thread_number.hpp"
#include "lockwright/env/native/syscall.hpp"
#include "probe/buffer_files.hpp"
#include "probe/lives.hpp"
#include "probe/records.hpp"
#include "probe/rwlock_words.hpp"
#include "probe/speedup.hpp"
#include "probe/waits.hpp"

extern "C" void* __dso_handle;

namespace lockwright::probe {
namespace {

/// claiming: a thread attaches, and the others wait; attaching: they do not, since a file has to be
/// filled; detached: the process has no file yet; unprofiled: and will have none.
enum class attachment : std::uint32_t {
  unknown,
  claiming,
  attaching,
  attached,
  detached,
  unprofiled
};

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

/// The acquisitions of a process without a buffer, flushed by its threads so far; those not yet
/// noted in the first buffer; and those not yet in its own.
constinit std::atomic<std::uint32_t> added_up{0};
constinit std::atomic<std::uint32_t> unreported{0};
constinit std::atomic<std::uint32_t> unmoved{0};

/// Other counts of threads that ended before their process had a buffer.
constinit thread_slot ended{};

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

/// The program has restricted its system calls: no file can be mapped any more.
constinit std::atomic<bool> is_sandboxed{false};

/// Makes `call`, which opens files, unless that may be forbidden. before_filter: the caller is about
/// to forbid it.
template <class Call>
void call_files(bool before_filter, Call call) {
  if (before_filter) {
    call();
  } else {
    native_env::unless_filtered(call, native_env::filter::inherited);
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

/// Adds acquisitions up that the calling thread has not added up; returns the sum.
std::uint32_t add_up(std::uint32_t passed) {
  local_slot.acquisitions += passed;
  unreported.fetch_add(passed);
  return added_up.fetch_add(passed) + passed;
}

void move_count(std::uint64_t& from, std::uint64_t& to) {
  __atomic_fetch_add(&to, __atomic_exchange_n(&from, 0, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

/// Moves the counts that need no record.
void move_counts(thread_slot& from, thread_slot& to) {
  for (auto count : {&thread_slot::rwlock_calls, &thread_slot::spin_calls, &thread_slot::mmap_calls,
                     &thread_slot::cond_waits, &thread_slot::unprofiled, &thread_slot::created,
                     &thread_slot::destroyed}) {
    move_count(from.*count, to.*count);
  }
}

/// Moves the counts of the calling thread's local slot into the buffer, with those of threads that
/// have ended. The first sample of the new slot stands for the acquisitions, too.
void move_local_slot(profile_buffer& target, thread_slot& slot) {
  // If the countdown has ended, the present acquisition is counted at the new slot.
  slot.drawn +=
      acquisitions_in_countdown() - (local_slot.countdown < 0 ? 1 : 0) + unmoved.exchange(0);
  move_counts(ended, local_slot);
  for (auto side : {&thread_slot::reads, &thread_slot::writes}) {
    move_count((ended.*side).acquisitions, (local_slot.*side).acquisitions);
    (slot.*side).drawn += static_cast<std::uint32_t>((local_slot.*side).acquisitions);
    local_slot.rwlock_calls -= (local_slot.*side).acquisitions;
  }
  if (local_slot.created != 0) {
    __atomic_fetch_add(&target.creations.weights[0], local_slot.created, __ATOMIC_RELAXED);
  }
  move_counts(local_slot, slot);
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

/// Adds the acquisitions since the last sample to its record.
template <class Countdown>
void end_countdown(profile_buffer& target, Countdown& of) {
  const std::int64_t passed = std::int64_t{of.drawn} - 1 - std::max(of.countdown, 0);
  if (passed > 0) {
    of.acquisitions += static_cast<std::uint64_t>(passed);
    if (of.last_record != 0) {
      __atomic_fetch_add(&target.records[of.last_record - 1].acquisitions, passed,
                         __ATOMIC_RELAXED);
    }
  }
}

/// Begins with a sample at the next acquisition.
template <class Countdown>
void begin_countdown(Countdown& of, std::uint64_t last_sample) {
  of.period = 1;
  of.drawn = 1;
  of.countdown = -1;
  of.last_sample = last_sample;
}

/// Returns a slot that no other thread has, if there is one.
thread_slot& take_slot(profile_buffer& target) {
  constexpr std::uint32_t numbers = profile_buffer::thread_numbers;
  const std::uint32_t first_try = target.threads_used.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t number = first_try % numbers;
  bool is_free = first_try < numbers;
  for (std::uint32_t tries = 0; !is_free && tries < numbers; ++tries) {
    number = (first_try + tries) % numbers;
    std::uint32_t has_ended = 1;
    is_free = __atomic_compare_exchange_n(&target.threads[number].has_ended, &has_ended, 0, false,
                                          __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
  }
  thread_slot& slot = target.threads[number];
  target.threads_sharing.fetch_add(is_free ? 0 : 1, std::memory_order_relaxed);
  slot.number = number;
  end_countdown(target, slot);
  end_countdown(target, slot.reads);
  end_countdown(target, slot.writes);
  return slot;
}

/// The key of end_thread(). One without memory of its own, which the C library would allocate.
constinit pthread_key_t end_key = 0;
constexpr pthread_key_t most_end_key = 31;
constinit bool has_end_key = false;

/// Leaves the counts of a thread that ends, or its slot, to another thread.
void end_thread(void*) {
  speedup::pay();
  end_life();
  if (this_slot == &local_slot) {
    const std::uint32_t passed = acquisitions_in_countdown();
    add_up(passed);
    unmoved.fetch_add(passed);
    move_counts(local_slot, ended);
    for (auto side : {&thread_slot::reads, &thread_slot::writes}) {
      move_count((local_slot.*side).acquisitions, (ended.*side).acquisitions);
    }
    local_slot = {};
    if (ended.rwlock_calls + ended.spin_calls >= calls_for_file) {
      request_buffer(true);
    }
  }
  // The destructors of its other variables may lock mutexes, too.
  thread_slot& slot = *std::exchange(this_slot, &unassigned_slot);
  if (&slot != &local_slot && &slot != &unassigned_slot) {
    __atomic_store_n(&slot.object, 0, __ATOMIC_RELAXED);  // a cancelled wait does not end
    __atomic_store_n(&slot.has_ended, 1, __ATOMIC_RELEASE);
  }
}

/// Waits while another thread attaches, a second at most: that thread may be this one, interrupted
/// by a signal.
void await_claim() {
  constexpr timespec step{.tv_sec = 0, .tv_nsec = 10'000'000};
  for (int i = 0; i < 100 && process.load(std::memory_order_acquire) == attachment::claiming; ++i) {
    native_env::system_call(SYS_futex, native_env::argument(&process),
                            FUTEX_WAIT | FUTEX_PRIVATE_FLAG,
                            static_cast<long>(attachment::claiming), native_env::argument(&step));
  }
}

constinit bool forked = false;

/// Detaches the child of a fork from the parent's buffer.
void in_child() {
  forked = true;
  leave_life();
  if (first == nullptr) {
    return;
  }
  call_files(false, [] { first->loaded.record_process(); });
  prepared = first;
  if (attached_buffer != nullptr) {
    inherited = attached_buffer;
    is_early = false;
  }
  attached_buffer = nullptr;
  own_entry = nullptr;
  added_up = 0;
  unreported = 0;
  unmoved = 0;
  ended = {};
  process.store(is_sandboxed ? attachment::unprofiled : attachment::unknown,
                std::memory_order_relaxed);
  local_slot = {};
  this_slot = &unassigned_slot;
}

}  // namespace

constinit thread_slot unassigned_slot{};
thread_local constinit thread_slot* this_slot = &unassigned_slot;

bool is_forked() { return forked; }

profile_buffer* attached() {
  return process.load(std::memory_order_acquire) == attachment::attached ? attached_buffer
                                                                         : nullptr;
}

bool may_be_profiled() {
  const attachment present = process.load(std::memory_order_relaxed);
  return present != attachment::unknown && present != attachment::unprofiled;
}

profile_buffer* attach(bool before_filter) {
  attachment present = process.load(std::memory_order_acquire);
  // Without an environment the C library has not started: earlier acquisitions are not recorded.
  if (present == attachment::unknown && environ != nullptr) {
    call_files(before_filter, [&present] {
      if (process.compare_exchange_strong(present, attachment::claiming)) {
        first = prepared != nullptr ? prepared : map_first();
        const bool is_ours = first != nullptr && claim(*first);
        attached_buffer = is_ours ? first : nullptr;
        const attachment otherwise =
            first != nullptr ? attachment::detached : attachment::unprofiled;
        process.store(is_ours ? attachment::attached : otherwise, std::memory_order_release);
        native_env::system_call(SYS_futex, native_env::argument(&process),
                                FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX);
      }
    });
  }
  if (present == attachment::claiming) {
    await_claim();
  }
  return attached();
}

void prepare() {
  native_env::clock_function* const clock = native_env::kernel_clock;
  interpose::find_kernel_clock();
  if (process.load(std::memory_order_acquire) == attachment::unknown) {
    prepared = first = map_first();
  }
  if (profile_buffer* target = attached(); target != nullptr && clock != native_env::kernel_clock) {
    note_begin(*target);  // again: the program's clock may be another
  }
  if (first != nullptr) {
    first->loaded.record_process();
  }
  interpose::real.register_atfork(nullptr, nullptr, in_child, static_cast<void*>(&__dso_handle));
  at_load = both_clocks();
  learn_readers();
  has_end_key = pthread_key_create(&end_key, end_thread) == 0 && end_key <= most_end_key;
}

void finish() {
  const bool has_counts = this_slot == &local_slot || unmoved != 0 || ended.rwlock_calls != 0;
  if (has_counts && attached() != nullptr) {
    assign_slot();
  }
}

bool has_unmoved_counts() {
  return unmoved.load(std::memory_order_relaxed) != 0 || ended.rwlock_calls != 0;
}

thread_slot& slot_outside() { return local_slot; }

void end_thread_later() {
  if (has_end_key) {
    pthread_setspecific(end_key, &unassigned_slot);
  }
}

thread_slot& assign_slot() {
  profile_buffer* target = attach();
  thread_slot* slot = &local_slot;
  if (target != nullptr) {
    slot = &take_slot(*target);
  }
  slot->tid = interpose::thread_number();
  const attachment present = process.load(std::memory_order_relaxed);
  if (slot == &local_slot) {
    slot->number = no_number;
    // Another thread may have attached just now.
    const bool may_attach = may_be_profiled();
    slot->drawn = may_attach ? 1 : 0;
    slot->countdown = may_attach ? 0 : longest_countdown;
  } else {
    const std::uint64_t now = ticks();
    // The first acquisition gives no interval. The present one is the first in the slot: a thread
    // without one counts at the unassigned slot.
    const std::uint64_t last_sample = now - 2 * sample_interval();
    begin_countdown(*slot, last_sample);
    begin_countdown(slot->reads, last_sample);
    begin_countdown(slot->writes, last_sample);
    slot->waits_period = 1;
    slot->waits_drawn = 1;
    slot->waits_countdown = 1;
    slot->random = slot->tid * 2654435761U | 1;
    slot->began = now;
    slot->last_wait = now - 2 * wait_interval();
    note_clocks(*slot);
    move_local_slot(*target, *slot);
    enter_life(*target);
    speedup::begin_thread(*target, *slot);
  }
  // Not before the C library has started: the thread then calls again.
  if (target != nullptr || present != attachment::unknown) {
    this_slot = slot;
    if (has_end_key) {
      pthread_setspecific(end_key, slot);
    }
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

profile_buffer* request_buffer(bool force, bool before_filter) {
  if (this_slot != &local_slot ||
      process.load(std::memory_order_acquire) == attachment::unprofiled) {
    local_slot.countdown = longest_countdown;
    return attached();
  }
  const std::uint32_t passed = acquisitions_in_countdown();
  const std::uint32_t taken = add_up(passed);
  restart_countdown(taken);
  unmoved.fetch_add(passed);
  attachment present = attachment::detached;
  if (process.compare_exchange_strong(present, attachment::attaching)) {
    if (own_entry.load() == nullptr) {
      own_entry = &note_other_process(*first);
    }
    present = attachment::detached;
    if (force || gets_file(*first, taken)) {
      call_files(before_filter, [&present] {
        attached_buffer = fill_own_file(*first);
        present = attached_buffer != nullptr ? attachment::attached : attachment::unprofiled;
      });
    }
    if (present == attachment::attached) {
      move_early(*attached_buffer);
      // The present acquisition is counted in the buffer.
      unmoved.fetch_sub(force ? 0 : 1);
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

namespace lockwright::interpose {

void prepare_for_filter() {
  if (!probe::is_sandboxed.exchange(true) && probe::attach(true) == nullptr) {
    probe::slot_for_call();
    probe::request_buffer(true, true);
  }
}

void leave_counter() { probe::leave_counter(); }

long follow_futex(std::uint64_t caller, const long (&arguments)[6]) {
  return probe::follow_futex(caller, arguments);
}

}  // namespace lockwright::interpose
