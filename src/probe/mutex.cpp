// pthread_mutex_*. An uncontended acquisition that is not sampled costs as much as the C library's:
// the same protocol on the same words, without a call and a branch on the kind, which compensates
// for a countdown and a store of the caller.
#include "probe/mutex.hpp"

#include <errno.h>
#include <linux/futex.h>

#include "interpose/real.hpp"
#include "interpose/thread_number.hpp"
#include "lockwright/env/native/syscall.hpp"
#include "probe/account.hpp"
#include "probe/mutex_words.hpp"
#include "probe/records.hpp"
#include "probe/speedup.hpp"
#include "probe/state.hpp"

namespace lockwright::probe {

using interpose::thread_number;

namespace {

using interpose::knows_owner;
using interpose::real;
using interpose::recursive;
using interpose::type_of;

/// The deadline of a timed lock.
struct limit {
  clockid_t clock;
  const timespec* deadline;
};

/// Locks by the C library, up to `until`; null for no deadline.
int library_lock(pthread_mutex_t* mutex, const limit* until) {
  if (until == nullptr) {
    return real.mutex_lock(mutex);
  }
  if (until->clock == CLOCK_REALTIME) {
    return real.mutex_timedlock(mutex, until->deadline);
  }
  return real.mutex_clocklock(mutex, until->clock, until->deadline);
}

bool try_acquire(mutex_words& mutex) {
  std::uint32_t free = 0;
  return __atomic_compare_exchange_n(&mutex.lock, &free, 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

void set_site(mutex_words& mutex, std::uint64_t site) {
  __atomic_store_n(&mutex.site, site, __ATOMIC_RELAXED);
}

/// Counts an acquisition in the mutex, which the caller holds.
void count_taken(mutex_words& mutex) { mutex.taken += counts(mutex) ? 1 : 0; }

/// Records the holder as the C library does; the count of a simple mutex, which has no meaning
/// there, gives the last holder. A call would cost the fast path as much as all the rest of it.
[[gnu::always_inline]] inline void record_owner(mutex_words& mutex, const thread_slot& thread,
                                                std::uint64_t caller) {
  __atomic_store_n(&mutex.owner, thread_number(), __ATOMIC_RELAXED);  // waiters read it
  ++mutex.users;
  ++mutex.taken;
  mutex.count = thread.tid;
  set_site(mutex, caller);
}

/// Returns the previous holder's kernel number, 0 if it is not known, for a holder that has not
/// called record_owner() yet.
std::uint32_t last_holder(const mutex_words& mutex) { return is_simple(mutex) ? mutex.count : 0; }

/// Returns the buffer and the calling thread's slot; null if the thread is not profiled.
profile_buffer* current_buffer(thread_slot*& thread) {
  thread = this_slot != &unassigned_slot ? this_slot : &assign_slot();
  profile_buffer* target = this_slot != &unassigned_slot ? attached() : nullptr;
  if (thread->number == no_number && target != nullptr) {
    thread = &assign_slot();
  }
  return target;
}

/// Does the same at an acquisition, which may give its process a buffer; waits: it is contended.
profile_buffer* buffer_for_acquisition(thread_slot*& thread, bool waits = false) {
  const bool had_slot = this_slot != &unassigned_slot;
  profile_buffer* target = current_buffer(thread);
  if (target != nullptr) {
    return target;
  }
  // A thread without a slot has counted this acquisition at the unassigned slot.
  thread->countdown -= had_slot ? 0 : 1;
  if (waits || thread->countdown < 0) {
    target = request_buffer(waits);
    thread = target != nullptr ? &assign_slot() : thread;
  }
  return target;
}

/// Takes a sample and notes the processor; returns the sample's weight.
std::uint32_t sample(thread_slot& thread) {
  std::uint32_t processor = 0;
  const std::uint64_t now = ticks_on(processor);
  if (thread.samples++ != 0 && processor != thread.processor) {
    ++thread.migrations;
  }
  thread.processor = processor;
  return next_sample(thread, now);
}

/// Locks a mutex that is held. weight: the sampling weight of the acquisition, 0 if it is not
/// sampled.
[[gnu::noinline]] int lock_contended(pthread_mutex_t* mutex, std::uint64_t caller,
                                     std::uint32_t weight, const limit* until = nullptr) {
  thread_slot* thread = nullptr;
  profile_buffer* target = buffer_for_acquisition(thread, true);
  if (target == nullptr) {
    const int error = library_lock(mutex, until);
    if (error == 0) {
      count_taken(mutex_words::of(mutex));
    } else {
      ++thread->countdown;
    }
    return error;
  }
  mutex_words& words = mutex_words::of(mutex);
  record& entry = record_of(*target, words, caller);
  ++thread->contended;
  std::uint32_t handover_weight = 0;
  std::uint32_t stack = 0;
  std::uint64_t begin = ticks();
  if (--thread->waits_countdown == 0) {
    handover_weight = next_wait(*thread, begin);
    stack = stack_if_due(*target, *thread, entry, caller, begin);
    begin = stack != 0 ? ticks() : begin;
  }
  const std::uint64_t holder = __atomic_load_n(&words.site, __ATOMIC_RELAXED) & address_bits;
  const std::uint32_t increment = handover_weight != 0 ? one_measured + 1 : 1;
  const std::uint32_t others = __atomic_fetch_add(&words.number, increment, __ATOMIC_RELAXED);
  thread->waiting_since = begin;
  thread->waiting_site = caller;
  thread->waiting_behind = holder;
  __atomic_store_n(&thread->waiting_for, number_of(*target, entry) + 1, __ATOMIC_RELEASE);
  const speedup::waiting waits;
  const int error = library_lock(mutex, until);
  if (speedup::is_reader(entry, caller)) {
    waits.end_of_reader(error == 0, mutex);
  } else {
    waits.end(error == 0, mutex, nullptr, mutex, speedup::spares_waits(entry));
  }
  __atomic_store_n(&thread->waiting_for, 0, __ATOMIC_RELEASE);
  __atomic_fetch_sub(&words.number, increment, __ATOMIC_RELAXED);
  const std::uint32_t last = error == 0 ? last_holder(words) : 0;
  if (error == 0 && is_simple(words)) {
    words.count = thread->tid;
  }
  const std::uint64_t end = ticks();
  const std::uint32_t wait_weight =
      count_wait(*target, *thread, entry, end - begin, handover_weight != 0);
  if (wait_weight != 0) {
    const bool is_handover =
        error == 0 && __atomic_load_n(&words.site, __ATOMIC_RELAXED) == 0 && entry.released > begin;
    note_wait(*target, *thread, entry,
              {.weight = wait_weight,
               .handover_weight = is_handover ? handover_weight : 0,
               .others = others % one_measured,
               .stack = stack,
               .caller = caller,
               .holder = holder,
               .begin = begin,
               .end = end});
  }
  if (error != 0) {
    note_error(entry, take_back(*thread, weight), true);
    return error;
  }
  set_site(words, caller);
  count_taken(words);
  look_at_count(entry, words);
  if (weight != 0) {
    begin_hold(
        *target, *thread, entry, words,
        {.weight = weight, .previous = last, .stack = 0, .by_trylock = false, .caller = caller});
  }
  return 0;
}

[[gnu::noinline]] int lock_sampled(pthread_mutex_t* mutex, std::uint64_t caller,
                                   const limit* until = nullptr) {
  mutex_words& words = mutex_words::of(mutex);
  thread_slot* thread = nullptr;
  profile_buffer* target = buffer_for_acquisition(thread);
  if (target == nullptr) {
    if (!try_acquire(words)) {
      return lock_contended(mutex, caller, 0, until);
    }
    record_owner(words, *thread, caller);
    return 0;
  }
  const std::uint32_t weight = sample(*thread);
  record& entry = record_of(*target, words, caller);
  const std::uint32_t stack = stack_if_due(*target, *thread, entry, caller, thread->last_sample);
  if (!try_acquire(words)) {
    return lock_contended(mutex, caller, weight, until);
  }
  const std::uint32_t last = last_holder(words);
  record_owner(words, *thread, caller);
  begin_hold(
      *target, *thread, entry, words,
      {.weight = weight, .previous = last, .stack = stack, .by_trylock = false, .caller = caller});
  return 0;
}

/// Samples an acquisition that did not wait.
void sample_held(pthread_mutex_t* mutex, std::uint64_t caller, std::uint32_t last,
                 bool by_trylock) {
  mutex_words& words = mutex_words::of(mutex);
  thread_slot* thread = nullptr;
  profile_buffer* target = buffer_for_acquisition(thread);
  if (is_simple(words)) {
    words.count = thread->tid;  // a thread without a slot recorded no number
  }
  if (target == nullptr) {
    return;
  }
  const std::uint32_t weight = sample(*thread);
  begin_hold(
      *target, *thread, record_of(*target, words, caller), words,
      {.weight = weight, .previous = last, .stack = 0, .by_trylock = by_trylock, .caller = caller});
}

/// Returns true if the caller holds a mutex of a kind that records it. Not by the number in its
/// slot: these mutexes are the C library's, and the program may have corrected the number that it
/// uses.
bool is_held_by_caller(const mutex_words& mutex) {
  return knows_owner(mutex.kind) && mutex.owner == thread_number();
}

/// Locks a mutex that is not simple by the C library's functions.
[[gnu::noinline]] int lock_other(pthread_mutex_t* mutex, std::uint64_t caller, bool is_trylock,
                                 const limit* until = nullptr) {
  mutex_words& words = mutex_words::of(mutex);
  thread_slot* thread = nullptr;
  profile_buffer* target = current_buffer(thread);
  if (!is_profiled(words) || is_held_by_caller(words)) {
    const int error = is_trylock ? real.mutex_trylock(mutex) : library_lock(mutex, until);
    if (!is_profiled(words)) {
      ++thread->unprofiled;
    } else if (error == 0) {
      count_taken(words);
      ++thread->drawn;  // as if it had been passed over: its section is part of a longer one
    }
    return error;
  }
  --thread->countdown;
  if (target == nullptr) {
    target = buffer_for_acquisition(thread);
  }
  const bool is_sampled = target != nullptr && thread->countdown < 0;
  const int error = real.mutex_trylock(mutex);
  if (error == EBUSY) {
    if (is_trylock) {
      if (target != nullptr) {
        thread->countdown += 1;
        note_failure(*target, *thread, record_of(*target, words, caller));
      }
      return error;
    }
    return lock_contended(mutex, caller, is_sampled ? sample(*thread) : 0, until);
  }
  if (error == 0) {
    set_site(words, caller);
    count_taken(words);
    if (is_sampled) {
      sample_held(mutex, caller, 0, is_trylock);
    }
  } else {
    take_back(*thread, 0);
  }
  return error;
}

[[gnu::noinline]] int unlock_other(pthread_mutex_t* mutex, std::uint64_t caller) {
  mutex_words& words = mutex_words::of(mutex);
  const bool is_last =
      !knows_owner(words.kind) ||
      (is_held_by_caller(words) && (type_of(words.kind) != recursive || words.count <= 1));
  if (is_profiled(words) && is_last) {
    if ((words.site & is_timed) != 0) {
      end_hold(words, caller);
    }
    if (__atomic_load_n(&words.lock, __ATOMIC_RELAXED) > 1) {
      note_release(words);
    }
  }
  return real.mutex_unlock(mutex);
}

[[gnu::noinline]] int note_busy(pthread_mutex_t* mutex, std::uint64_t caller) {
  thread_slot* thread = nullptr;
  if (profile_buffer* target = buffer_for_acquisition(thread); target != nullptr) {
    note_failure(*target, *thread, record_of(*target, mutex_words::of(mutex), caller));
  }
  return EBUSY;
}

/// Unlocks a mutex on which a waiter may be parked.
[[gnu::noinline]] void unlock_to_waiter(mutex_words& mutex) {
  note_release(mutex);
  if (__atomic_exchange_n(&mutex.lock, 0, __ATOMIC_RELEASE) > 1) {
    native_env::system_call(SYS_futex, native_env::argument(&mutex.lock),
                            FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
  }
}

}  // namespace

int init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes, std::uint64_t caller) {
  const int error = real.mutex_init(mutex, attributes);
  thread_slot* thread = nullptr;
  profile_buffer* target = current_buffer(thread);
  mutex_words& words = mutex_words::of(mutex);
  init_table* inits = target != nullptr ? &target->inits : early_inits();
  if (error != 0 || inits == nullptr || this_slot == &unassigned_slot || !is_profiled(words)) {
    return error;
  }
  ++thread->created;
  note_init(target, *inits, *thread, caller, words.link, words.number);
  if (target != nullptr) {
    const unsigned when = histogram::bucket_of(ticks() - target->begin_ticks);
    __atomic_fetch_add(&target->creations.weights[when], 1, __ATOMIC_RELAXED);
  }
  return error;
}

int destroy(pthread_mutex_t* mutex) {
  thread_slot* thread = nullptr;
  mutex_words& words = mutex_words::of(mutex);
  // A process that only destroys mutexes is not recorded.
  if (is_profiled(words) && (this_slot != &unassigned_slot || attached() != nullptr)) {
    profile_buffer* target = current_buffer(thread);
    ++thread->destroyed;
    if (record* known = target != nullptr ? known_record(*target, words) : nullptr;
        known != nullptr) {
      known->destroyed = 1;
      look_at_count(*known, words);
    }
  }
  return real.mutex_destroy(mutex);
}

[[gnu::always_inline]] inline int lock_profiled(pthread_mutex_t* mutex, std::uint64_t caller) {
  mutex_words& words = mutex_words::of(mutex);
  thread_slot& thread = *this_slot;
  if (!is_simple(words)) [[unlikely]] {
    return lock_other(mutex, caller, false);
  }
  if (--thread.countdown < 0) [[unlikely]] {
    return lock_sampled(mutex, caller);
  }
  if (!try_acquire(words)) [[unlikely]] {
    return lock_contended(mutex, caller, 0);
  }
  record_owner(words, thread, caller);
  return 0;
}

[[gnu::always_inline]] inline int unlock_profiled(pthread_mutex_t* mutex, std::uint64_t caller) {
  mutex_words& words = mutex_words::of(mutex);
  if (!is_simple(words)) [[unlikely]] {
    return unlock_other(mutex, caller);
  }
  if ((words.site & is_timed) != 0) [[unlikely]] {
    end_hold(words, caller);
  }
  words.owner = 0;
  --words.users;
  std::uint32_t alone = 1;
  if (!__atomic_compare_exchange_n(&words.lock, &alone, 0, false, __ATOMIC_RELEASE,
                                   __ATOMIC_RELAXED)) [[unlikely]] {
    unlock_to_waiter(words);
  }
  return 0;
}

[[gnu::always_inline]] inline int try_lock_profiled(pthread_mutex_t* mutex, std::uint64_t caller) {
  mutex_words& words = mutex_words::of(mutex);
  if (!is_simple(words)) [[unlikely]] {
    return lock_other(mutex, caller, true);
  }
  if (!try_acquire(words)) {
    return note_busy(mutex, caller);
  }
  thread_slot& thread = *this_slot;
  const std::uint32_t last = words.count;
  record_owner(words, thread, caller);
  if (--thread.countdown < 0) [[unlikely]] {
    sample_held(mutex, caller, last, true);
  }
  return 0;
}

[[gnu::always_inline]] inline int lock_until_profiled(pthread_mutex_t* mutex, clockid_t clock,
                                                      const timespec* deadline,
                                                      std::uint64_t caller) {
  mutex_words& words = mutex_words::of(mutex);
  const limit until{.clock = clock, .deadline = deadline};
  if (deadline == nullptr || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)) {
    return real.mutex_clocklock(mutex, clock, deadline);
  }
  if (!is_simple(words)) {
    return lock_other(mutex, caller, false, &until);
  }
  thread_slot& thread = *this_slot;
  if (--thread.countdown < 0) {
    return lock_sampled(mutex, caller, &until);
  }
  if (!try_acquire(words)) {
    return lock_contended(mutex, caller, 0, &until);
  }
  record_owner(words, thread, caller);
  return 0;
}

/// Locks a mutex by acquire(), as a part of experiments on the program, if there are any.
template <class Acquire>
[[gnu::always_inline]] inline int lock_by(pthread_mutex_t* mutex, Acquire acquire) {
  const int error = acquire();
  if (error == 0) {
    speedup::enter(mutex);
  }
  return error;
}

[[gnu::always_inline]] inline int lock_inline(pthread_mutex_t* mutex, std::uint64_t caller) {
  return lock_by(mutex, [=] { return lock_profiled(mutex, caller); });
}

[[gnu::always_inline]] inline int unlock_inline(pthread_mutex_t* mutex, std::uint64_t caller) {
  speedup::leave(mutex);
  const int error = unlock_profiled(mutex, caller);
  speedup::pay_after_release();
  return error;
}

[[gnu::always_inline]] inline int try_lock_inline(pthread_mutex_t* mutex, std::uint64_t caller) {
  return lock_by(mutex, [=] { return try_lock_profiled(mutex, caller); });
}

int lock_until(pthread_mutex_t* mutex, clockid_t clock, const timespec* deadline,
               std::uint64_t caller) {
  return lock_by(mutex, [=] { return lock_until_profiled(mutex, clock, deadline, caller); });
}

int lock(pthread_mutex_t* mutex, std::uint64_t caller) { return lock_inline(mutex, caller); }
int try_lock(pthread_mutex_t* mutex, std::uint64_t caller) {
  return try_lock_inline(mutex, caller);
}
int unlock(pthread_mutex_t* mutex, std::uint64_t caller) { return unlock_inline(mutex, caller); }

}  // namespace lockwright::probe

extern "C" {

int lockwright_mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* attributes) noexcept {
  return lockwright::probe::init(m, attributes, LOCKWRIGHT_CALLER);
}

int lockwright_mutex_destroy(pthread_mutex_t* m) noexcept { return lockwright::probe::destroy(m); }

int lockwright_mutex_lock(pthread_mutex_t* m) noexcept {
  return lockwright::probe::lock_inline(m, LOCKWRIGHT_CALLER);
}

int lockwright_mutex_trylock(pthread_mutex_t* m) noexcept {
  return lockwright::probe::try_lock_inline(m, LOCKWRIGHT_CALLER);
}

int lockwright_mutex_unlock(pthread_mutex_t* m) noexcept {
  return lockwright::probe::unlock_inline(m, LOCKWRIGHT_CALLER);
}

int lockwright_mutex_timedlock(pthread_mutex_t* m, const timespec* deadline) noexcept {
  return lockwright::probe::lock_until(m, CLOCK_REALTIME, deadline, LOCKWRIGHT_CALLER);
}

int lockwright_mutex_clocklock(pthread_mutex_t* m, clockid_t clock,
                               const timespec* deadline) noexcept {
  return lockwright::probe::lock_until(m, clock, deadline, LOCKWRIGHT_CALLER);
}

}  // extern "C"

#include "interpose/mutex_names.hpp"
