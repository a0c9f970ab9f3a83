// The file that a profiled program writes and `lockwright profile` reads, also while the program
// runs: it is always complete, so no record is lost however the program ends. Each process has a
// file of its own, see buffer_files.hpp.
// `lockwright-layouts` prints the layout, from which python/lockwright/profile/buffer.py reads it.
//
// Durations and times are in ticks of the processor's clock, see clock.hpp. Counts of a mutex are
// changed by its holder and a thread's by that thread, so plain stores do.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/layout.hpp"
#include "interpose/loads.hpp"
#include "interpose/process_identity.hpp"
#include "probe/histogram.hpp"

namespace lockwright::probe {

using counter = std::atomic<std::uint64_t>;

/// The samples of a thread's acquisitions of reader-writer locks, as readers or as writers.
struct sampler {
  std::int32_t countdown;  ///< acquisitions to skip before the next sample
  std::uint32_t drawn;     ///< initial countdown
  std::uint32_t period;    ///< mean of the drawn countdowns
  std::uint32_t samples;
  std::uint64_t acquisitions;  ///< before the present countdown began
  std::uint64_t last_sample;
  std::uint64_t last_record;  ///< of the last sample, plus one
};
static_assert(sizeof(sampler) == 40);
LOCKWRIGHT_LAYOUT(sampler, countdown, drawn, period, samples, acquisitions, last_sample,
                  last_record);

/// A section under a reader-writer lock that a thread is in and whose length is measured.
struct timed_section {
  std::uint64_t lock;  ///< address; 0 if there is none
  std::uint64_t begin;
  std::uint32_t record;
  std::uint32_t weight;
  std::uint32_t site;   ///< in the record's details, plus one
  std::uint32_t stack;  ///< plus one
};
static_assert(sizeof(timed_section) == 32);
LOCKWRIGHT_LAYOUT(timed_section, lock, begin, record, weight, site, stack);

/// The time that threads waited for an object. object: its number plus one; 0 if the entry is free.
struct awaited_object {
  std::uint64_t object;
  std::uint64_t waited;
};
static_assert(sizeof(awaited_object) == 16);
LOCKWRIGHT_LAYOUT(awaited_object, object, waited);

/// A thread that locked a mutex. An acquisition that is neither sampled nor waits accesses the
/// first cache line only; one of a reader-writer lock another one.
struct alignas(64) thread_slot {
  std::int32_t countdown;  ///< acquisitions to skip before the next sample
  std::uint32_t tid;       ///< the kernel's number
  std::uint32_t drawn;     ///< initial countdown
  std::uint32_t number;
  std::uint64_t acquisitions;  ///< before the present countdown began
  std::uint64_t last_sample;
  std::uint32_t period;  ///< mean of the drawn countdowns
  std::uint32_t random;
  std::uint64_t rwlock_calls;
  std::uint64_t spin_calls;
  std::uint64_t mmap_calls;

  std::uint64_t waiting_since;
  std::uint64_t waiting_site;  ///< caller of the lock function
  std::uint32_t waiting_for;   ///< record of the mutex, plus one; 0 while it does not wait
  std::uint32_t waits_drawn;   ///< initial countdown of contended acquisitions
  std::uint64_t last_wait;
  std::uint64_t last_stack;
  std::uint64_t last_span;
  std::uint64_t last_usage;
  std::uint32_t waits_countdown;
  std::uint32_t waits_period;

  std::uint64_t samples;
  std::uint64_t migrations;
  std::uint32_t processor;
  std::uint32_t is_walking;  ///< the thread walks its own stack
  std::uint64_t clock_ticks;
  std::uint64_t clock_ns;  ///< of the monotonic clock, at clock_ticks
  std::uint32_t failing;   ///< record of the mutex whose trylock failed last, plus one
  std::uint32_t failures;  ///< in a row, not yet in the record
  std::uint64_t failed_trylocks;
  std::uint64_t cond_waits;

  std::uint64_t unprofiled;
  std::uint64_t created;
  std::uint64_t destroyed;
  std::uint64_t last_caller;  ///< of pthread_mutex_init
  std::uint32_t last_init_site;
  std::uint32_t spans_left;  ///< of its block
  std::uint64_t next_span;
  std::uint64_t contended;
  std::uint64_t last_record;  ///< of the last sample, plus one

  std::uint64_t began;           ///< time of its first acquisition
  std::uint64_t waited;          ///< for one mutex, not yet in its record
  std::uint64_t all_waited;      ///< for any lock
  std::uint32_t waited_for;      ///< record of that mutex, plus one
  std::uint32_t waits;           ///< of these
  std::uint32_t short_waits;     ///< since the last measured wait
  std::uint32_t is_parked;       ///< by experiments with fewer threads
  std::uint64_t waiting_behind;  ///< caller that held the lock when the wait began
  std::uint64_t delays_paid;     ///< ticks, see speedup.hpp
  std::uint64_t delays_forgiven;

  sampler reads;
  sampler writes;
  static constexpr unsigned section_numbers = 4;
  timed_section sections[section_numbers];
  std::uint32_t open_sections;  ///< of these, those in use
  std::uint32_t has_ended;      ///< the thread has, and another one may have the slot
  std::uint64_t object_since;
  std::uint64_t object_caller;  ///< of the function that waits
  std::uint32_t object;         ///< that it waits for, plus one; 0 while it does not
  std::uint32_t unused_words[5];
  std::uint64_t object_waited[8];  ///< for objects not in the table, by the kind minus one
  static constexpr unsigned awaited_numbers = 12;
  awaited_object awaited[awaited_numbers];
};
static_assert(sizeof(thread_slot) == 832);
LOCKWRIGHT_LAYOUT(thread_slot, countdown, tid, drawn, number, acquisitions, last_sample, period,
                  random, rwlock_calls, spin_calls, mmap_calls, waiting_since, waiting_site,
                  waiting_for, waits_drawn, last_wait, last_stack, last_span, last_usage,
                  waits_countdown, waits_period, samples, migrations, processor, is_walking,
                  clock_ticks, clock_ns, failing, failures, failed_trylocks, cond_waits, unprofiled,
                  created, destroyed, last_caller, last_init_site, spans_left, next_span, contended,
                  last_record, began, waited, all_waited, waited_for, waits, short_waits, is_parked,
                  waiting_behind, delays_paid, delays_forgiven, reads, writes, sections,
                  open_sections, has_ended, object_since, object_caller, object, unused_words,
                  object_waited, awaited);

/// A thread that the program has begun. routine: its function, or its type of std::thread.
struct live_thread {
  std::atomic<std::uint32_t> tid;  ///< 0 if the entry is free
  std::uint32_t has_ended;         ///< not 0 for one that ended, and began before the buffer
  std::uint64_t routine;
  std::uint64_t begin_ns;
};
static_assert(sizeof(live_thread) == 24);
LOCKWRIGHT_LAYOUT(live_thread, tid, has_ended, routine, begin_ns);

/// All threads of a name and a routine that have ended.
struct thread_role {
  counter hash;
  char name[16];
  std::uint64_t routine;
  counter threads;
  counter lived;  ///< ns, as `ran` and `ready`
  counter ran;
  counter ready;       ///< for a processor
  counter locks;       ///< ticks waited for any lock
  counter objects[8];  ///< ticks waited for objects not in the table, by the kind minus one
  static constexpr unsigned awaited_numbers = 40;
  awaited_object awaited[awaited_numbers];
};
static_assert(sizeof(thread_role) == 776);
LOCKWRIGHT_LAYOUT(thread_role, hash, name, routine, threads, lived, ran, ready, locks, objects,
                  awaited);

/// A caller of pthread_mutex_init.
struct init_site {
  counter caller;
  std::atomic<std::uint32_t> created;
  std::atomic<std::uint32_t> walked;
};
static_assert(sizeof(init_site) == 16);
LOCKWRIGHT_LAYOUT(init_site, caller, created, walked);

/// A stack from which pthread_mutex_init was called, the caller first.
struct init_stack {
  static constexpr unsigned depth = 7;
  counter hash;
  std::uint32_t frames;
  std::uint32_t init_site;
  std::uint64_t pcs[depth];
};
static_assert(sizeof(init_stack) == 72);
LOCKWRIGHT_LAYOUT(init_stack, hash, frames, init_site, pcs);

/// The initialisation sites of mutexes.
struct init_table {
  static constexpr std::uint32_t site_numbers = 4096;
  static constexpr std::uint32_t stack_numbers = 4096;
  init_site sites[site_numbers];
  init_stack stacks[stack_numbers];
};
LOCKWRIGHT_LAYOUT(init_table, sites, stacks);

/// A file that is mapped, from `start` to `end`; addresses in it are relative to `base`.
struct loaded_module {
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t base;
  std::uint64_t path;  ///< its index in the buffer's `paths`
};
static_assert(sizeof(loaded_module) == 32);
LOCKWRIGHT_LAYOUT(loaded_module, start, end, base, path);

/// A stack from which a mutex was locked, or from which an object was waited for or its waits ended.
/// Placed by the hash of the record and the addresses. record: for waits of an object, its number
/// behind those of records; for ends of its waits, behind those of objects.
struct stack {
  static constexpr unsigned depth = 24;
  counter hash;
  std::uint32_t record;
  std::uint32_t frames;
  counter waits;
  counter waited;
  counter holds;  ///< samples
  counter held;
  std::uint64_t pcs[depth];
};
static_assert(sizeof(stack) == 48 + 8 * stack::depth);
LOCKWRIGHT_LAYOUT(stack, hash, record, frames, waits, waited, holds, held, pcs);

/// One mutex, or all mutexes of one site where there are too many. A reader-writer lock has two: that
/// of its writers and, behind it, that of its readers, whose fields have no single writer.
struct alignas(64) record {
  static constexpr std::uint32_t is_chosen = 1U << 26;   ///< its sections, by experiments
  static constexpr std::uint32_t is_metered = 1U << 27;  ///< its acquisitions are the progress
  static constexpr std::uint32_t of_readers = 1U << 28;
  static constexpr std::uint32_t of_writers = 1U << 29;
  static constexpr std::uint32_t is_void = 1U << 30;
  static constexpr std::uint32_t is_shared = 1U << 31;

  std::uint64_t address;
  std::uint32_t
      init_site;          ///< plus one; 0 if its initialisation was not recorded; above, the stack
  std::uint32_t ordinal;  ///< among the mutexes of the site
  std::uint32_t kind;     ///< the C library's kind word, and the flags above
  std::uint32_t detail;   ///< plus one; 0 if there is none
  std::uint64_t first_site;
  std::uint64_t first_seen;
  std::uint64_t threads[3];  ///< a bit for the remainder of each thread's number

  std::uint64_t acquisitions;  ///< sum of the samples' weights
  std::uint64_t samples;
  std::uint64_t tried;  ///< of the acquisitions, by trylock
  std::uint64_t hold_begin;
  std::uint32_t hold_weight;
  std::uint32_t counted;  ///< in the mutex, when a thread last looked; 0 if that is unknown
  std::uint64_t holds;    ///< sum of weights
  std::uint64_t held;     ///< sum of weights times durations
  std::uint64_t hold_samples;

  std::uint64_t contended;
  std::uint64_t waits;  ///< of these, the measured ones
  std::uint64_t waited;
  std::uint64_t released;  ///< time of the last release with waiters
  std::uint64_t hand_overs;
  std::uint64_t handed_over;
  std::uint32_t last_thread;  ///< plus one
  std::uint32_t owner_changes;
  std::uint32_t usage_samples;
  std::uint32_t usage_preempted;

  counter failed_trylocks;
  counter cond_signals;
  std::uint64_t cond_waits;
  std::uint64_t futile_wakeups;
  std::uint64_t usage_begin;  ///< involuntary switches of the holder, plus one; 0 if not read
  std::uint64_t hold_site;
  std::uint32_t hold_stack;  ///< plus one
  std::uint32_t destroyed;
  std::uint32_t most_waiting;
  std::uint32_t given_up;  ///< waits that ended without the lock, at a deadline

  // When usage_begin was read: the holder's voluntary switches, ns on a processor, ticks waited for
  // any lock.
  std::uint64_t usage_voluntary;
  std::uint64_t usage_ran;
  std::uint64_t usage_waited;
  std::uint64_t usage_held;   ///< sum of the sections of usage_samples times weights
  std::uint64_t usage_slept;  ///< of that, while the holder slept, but not for a lock
  std::uint64_t unused[3];
};
static_assert(sizeof(record) == 320);
LOCKWRIGHT_LAYOUT(record, address, init_site, ordinal, kind, detail, first_site, first_seen,
                  threads, acquisitions, samples, tried, hold_begin, hold_weight, counted, holds,
                  held, hold_samples, contended, waits, waited, released, hand_overs, handed_over,
                  last_thread, owner_changes, usage_samples, usage_preempted, failed_trylocks,
                  cond_signals, cond_waits, futile_wakeups, usage_begin, hold_site, hold_stack,
                  destroyed, most_waiting, given_up, usage_voluntary, usage_ran, usage_waited,
                  usage_held, usage_slept, unused);

/// A caller of a lock function for one mutex.
struct call_site {
  std::uint64_t caller;
  std::uint64_t acquisitions;
  std::uint64_t contended;
  std::uint64_t waited;
  std::uint64_t held;
  std::uint64_t releaser;  ///< caller of the function that released it last
};
LOCKWRIGHT_LAYOUT(call_site, caller, acquisitions, contended, waited, held, releaser);

/// Waits of one site for another: numbers of sites plus one, 0 for unknown.
struct wait_edge {
  std::uint32_t holder;
  std::uint32_t waiter;
  std::uint64_t times;
  std::uint64_t waited;
};
LOCKWRIGHT_LAYOUT(wait_edge, holder, waiter, times, waited);

/// The details of a mutex beyond sums.
struct alignas(64) mutex_detail {
  static constexpr unsigned arrival_numbers = 64;
  static constexpr unsigned site_numbers = 16;
  static constexpr unsigned edge_numbers = 32;

  histogram holding;
  histogram waiting;
  histogram handing_over;
  std::uint64_t arrivals[arrival_numbers];
  call_site sites[site_numbers];
  wait_edge wait_edges[edge_numbers];
};
LOCKWRIGHT_LAYOUT(mutex_detail, holding, waiting, handing_over, arrivals, sites, wait_edges);

/// A caller of a function that waits for an object, or that ended such waits.
struct wait_site {
  counter caller;
  counter times;
  counter waited;
};
static_assert(sizeof(wait_site) == 24);
LOCKWRIGHT_LAYOUT(wait_site, caller, times, waited);

/// An object other than a lock that threads wait for, or all of a kind for which there is no room.
struct alignas(64) wait_object {
  static constexpr std::uint32_t condition = 1;
  static constexpr std::uint32_t semaphore = 2;
  static constexpr std::uint32_t barrier = 3;
  static constexpr std::uint32_t join = 4;  ///< its address is the caller that joins
  static constexpr std::uint32_t once = 5;
  static constexpr std::uint32_t futex = 6;
  static constexpr std::uint32_t kinds = 6;
  static constexpr unsigned site_numbers = 10;

  static constexpr unsigned waking_numbers = 12;

  counter key;  ///< the address; the kind is in the eight highest bits
  std::atomic<std::uint32_t> waiting;
  std::atomic<std::uint32_t> last_thread;  ///< number of the thread of last_wake, plus one
  counter waits;
  counter waited;
  counter given_up;    ///< of the waits, at a deadline
  counter resumed;     ///< of the waits, those whose waker is known
  counter resuming;    ///< of their time, that after the waker's call
  counter last_wake;   ///< time of the last call that may end waits
  counter last_waker;  ///< its caller
  /// Numbers, plus one, of threads that called so, each at the place of its remainder.
  std::atomic<std::uint32_t> waking[waking_numbers];
  wait_site waiters[site_numbers];
  wait_site wakers[site_numbers];
  std::uint64_t is_chosen;  ///< by experiments
};
static_assert(sizeof(wait_object) == 640);
LOCKWRIGHT_LAYOUT(wait_object, key, waiting, last_thread, waits, waited, given_up, resumed,
                  resuming, last_wake, last_waker, waking, waiters, wakers, is_chosen);

/// A part of the timeline.
struct span {
  static constexpr std::uint32_t wait = 1;
  static constexpr std::uint32_t hold = 2;
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t caller;
  std::uint32_t record;
  std::uint16_t thread;
  std::uint16_t kind;
};
static_assert(sizeof(span) == 32);
LOCKWRIGHT_LAYOUT(span, begin, end, caller, record, thread, kind);

/// A process with another file, or none, that locks mutexes. The last one of the table stands for
/// all that had no room before it.
struct other_process {
  /// In `taken`: its threads wait, or lock many mutexes, and no file was left.
  static constexpr std::uint32_t is_unseen = 1U << 31;

  interpose::process_identity process;
  std::atomic<std::uint32_t> taken;  ///< acquisitions before it had a file; at least half of them
  std::uint32_t unused;
};
LOCKWRIGHT_LAYOUT(other_process, process, taken, unused);

/// Experiments on the running program, see speedup.hpp. The command writes all but `owed` and `progress`.
struct alignas(64) experiments {
  /// Instead of a share: waits for the chosen locks count as none.
  static constexpr std::uint32_t no_waits = 101;
  /// Or those of readers for readers.
  static constexpr std::uint32_t readers_together = 102;
  static constexpr unsigned reader_numbers = 16;

  std::atomic<std::uint32_t> share;       ///< of a section by which others are delayed, in per cent
  std::atomic<std::uint32_t> is_crowded;  ///< more threads than processors
  counter limit;  ///< of `owed`, which bounds the delays if the command is killed
  counter floor;  ///< what was owed before the present window, which is forgiven
  counter window;
  counter parked_until;  ///< in ticks: threads that are parked go on then in any case
  std::uint64_t unused_words[3];
  counter owed;      ///< the highest level of a thread, in ticks
  counter progress;  ///< acquisitions of the metered mutexes
  std::uint64_t more_unused[6];
  counter readers[reader_numbers];  ///< callers of the lock functions whose sections only read
};
static_assert(sizeof(experiments) == 256);
LOCKWRIGHT_LAYOUT(experiments, share, is_crowded, limit, floor, window, parked_until, unused_words,
                  owed, progress, more_unused, readers);

struct alignas(4096) profile_buffer {
  static constexpr char magic[8] = "LWPROBE";
  static constexpr std::uint32_t thread_numbers = 4096;
  static constexpr std::uint32_t module_numbers = 256;
  /// The longest path, and 256 of usual length.
  static constexpr std::uint32_t path_bytes = 4096 + 56 * 1024;
  static constexpr std::uint32_t stack_numbers = 4096;
  static constexpr std::uint32_t record_numbers = 16384;
  /// The last records; each is for all mutexes of some sites.
  static constexpr std::uint32_t shared_records = 1024;
  /// Those before them; each pair is for all reader-writer locks of some sites.
  static constexpr std::uint32_t shared_rwlock_records = 512;
  static constexpr std::uint32_t detail_numbers = 1024;
  /// The last ones are for all further objects of a kind each.
  static constexpr std::uint32_t object_numbers = 4096;
  /// The last one is for all further roles.
  static constexpr std::uint32_t role_numbers = 256;
  static constexpr std::uint32_t span_numbers = 32768;
  static constexpr std::uint32_t spans_in_block = 64;

  interpose::layout_stamp stamp;
  std::atomic<std::uint64_t> claimed;   ///< the hash of the profiled process, 0 until there is one
  interpose::process_identity process;  ///< the same process; its number is 0 until it has begun
  std::uint64_t begin_ticks;
  std::uint64_t begin_ns;             ///< of the monotonic clock
  std::uint64_t ticks_per_second;     ///< 0 if the processor does not give it
  std::atomic<std::uint32_t> others;  ///< other processes that locked mutexes; in the first file
  std::atomic<std::uint32_t> threads_used;
  std::atomic<std::uint32_t> threads_sharing;  ///< threads that share the slot of another
  std::atomic<std::uint32_t> modules_used;
  std::atomic<std::uint32_t> records_used;
  std::atomic<std::uint32_t> details_used;
  std::atomic<std::uint32_t> span_blocks_used;
  std::atomic<std::uint32_t> modules_taken;
  std::atomic<std::uint32_t> path_bytes_used;
  std::atomic<std::uint32_t> images;  ///< programs that the process has executed
  std::atomic<std::uint32_t> files;   ///< filled files beside it; in the first file
  std::atomic<std::uint32_t> most;  ///< acquisitions for which a process got another file; likewise
  std::atomic<std::uint32_t> taken;  ///< bits of the files beside it that a process has; likewise
  static constexpr std::uint32_t other_numbers = 64;
  other_process other_processes[other_numbers + 1];  ///< in the first file
  char program[4096];
  interpose::loads loaded;  ///< in the first file
  histogram creations;      ///< calls of pthread_mutex_init by the time since the beginning

  thread_slot threads[thread_numbers];
  init_table inits;
  loaded_module modules[module_numbers];
  char paths[path_bytes];
  stack stacks[stack_numbers];
  record records[record_numbers];
  mutex_detail details[detail_numbers];
  wait_object objects[object_numbers];
  live_thread lives[thread_numbers];
  thread_role roles[role_numbers];
  span spans[span_numbers];
  experiments running;
};
LOCKWRIGHT_LAYOUT(profile_buffer, stamp, claimed, process, begin_ticks, begin_ns, ticks_per_second,
                  others, threads_used, threads_sharing, modules_used, records_used, details_used,
                  span_blocks_used, modules_taken, path_bytes_used, images, files, most, taken,
                  other_processes, program, loaded, creations, threads, inits, modules, paths,
                  stacks, records, details, objects, lives, roles, spans, running);

}  // namespace lockwright::probe
