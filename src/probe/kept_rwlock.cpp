// A reader among readers is not seen here, see `reader`. Another acquisition that is neither sampled nor
// has to wait is the C library's function behind a countdown and a look at the word which that
// function changes next.
#include "probe/kept_rwlock.hpp"

#include <errno.h>

#include "interpose/real.hpp"
#include "probe/account.hpp"
#include "probe/clock.hpp"
#include "probe/records.hpp"
#include "probe/rwlock_words.hpp"
#include "probe/speedup.hpp"
#include "probe/state.hpp"

namespace lockwright::probe {

void learn_readers() {
  using interpose::real;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  const auto after = [&lock](auto call) {
    call(&lock);
    return __atomic_load_n(&rwlock_words::of(&lock).state, __ATOMIC_RELAXED);
  };
  const bool counts_readers =
      after(real.rwlock_rdlock) == one_reader && after(real.rwlock_rdlock) == 2 * one_reader &&
      after(real.rwlock_unlock) == one_reader && after(real.rwlock_unlock) == 0;
  const bool marks_writers = (after(real.rwlock_wrlock) & not_for_readers) != 0;
  after(real.rwlock_unlock);
  if (counts_readers && marks_writers) {
    // The C library refuses more readers than twice as many.
    most_readers.store(1U << 30, std::memory_order_relaxed);
  }
}

namespace kept {
namespace {

using interpose::real;

template <bool Writes>
sampler& sampler_of(thread_slot& thread) {
  return Writes ? thread.writes : thread.reads;
}

template <bool Writes>
record& record_of(profile_buffer& target, rwlock_words& words, std::uint64_t caller) {
  record* both = records_of(target, words, caller);
  return both[Writes ? 0 : 1];
}

template <bool Writes>
int try_real(pthread_rwlock_t* lock) {
  return Writes ? real.rwlock_trywrlock(lock) : real.rwlock_tryrdlock(lock);
}

/// Returns the buffer and the calling thread's slot; null if the call is counted only.
profile_buffer* buffer_for_call(thread_slot*& thread, bool waits) {
  thread = &slot_for_call();
  profile_buffer* target = attached();
  if (target == nullptr && waits) {
    target = request_buffer(true);
  }
  if (target != nullptr && thread->number == no_number) {
    thread = &assign_slot();
  }
  if (target == nullptr || thread->number == no_number) {
    ++thread->rwlock_calls;
    return nullptr;
  }
  return target;
}

void set_site(rwlock_words& words, std::uint64_t site) {
  __atomic_store_n(&words.site, site, __ATOMIC_RELAXED);
}

/// Waits by `call` and records that. Returns its result.
template <bool Writes, class Call>
int wait_for(profile_buffer& target, thread_slot& thread, record& entry, rwlock_words& words,
             std::uint64_t caller, Call call) {
  std::uint32_t measured = 0;
  std::uint32_t stack = 0;
  std::uint64_t begin = ticks();
  if (--thread.waits_countdown == 0) {
    measured = next_wait(thread, begin);
    stack = stack_if_due(target, thread, entry, caller, begin);
    begin = stack != 0 ? ticks() : begin;
  }
  const std::uint64_t holder = __atomic_load_n(&words.site, __ATOMIC_RELAXED) & address_bits;
  const std::uint32_t others = __atomic_fetch_add(&words.number, 1, __ATOMIC_RELAXED);
  thread.waiting_since = begin;
  thread.waiting_site = caller;
  thread.waiting_behind = holder;
  __atomic_store_n(&thread.waiting_for, number_of(target, entry) + 1, __ATOMIC_RELEASE);
  const speedup::waiting waits;
  const int error = call();
  waits.end(error == 0, &words, nullptr, nullptr, speedup::spares_waits(entry));
  __atomic_store_n(&thread.waiting_for, 0, __ATOMIC_RELEASE);
  __atomic_fetch_sub(&words.number, 1, __ATOMIC_RELAXED);
  const std::uint64_t end = ticks();
  const std::uint32_t weight = count_wait(target, thread, entry, end - begin, measured != 0);
  if (weight != 0) {
    note_wait(target, thread, entry,
              {.weight = weight,
               .handover_weight = 0,
               .others = others,
               .stack = stack,
               .caller = caller,
               .holder = holder,
               .begin = begin,
               .end = end});
  }
  return error;
}

/// An acquisition that is sampled or has to wait. call: acquires the lock.
template <bool Writes, class Call>
[[gnu::noinline]] int lock_slow(pthread_rwlock_t* lock, std::uint64_t caller, Call call) {
  rwlock_words& words = rwlock_words::of(lock);
  const bool is_held = holds_up(words, Writes);
  thread_slot* thread = nullptr;
  profile_buffer* target = buffer_for_call(thread, is_held);
  if (target == nullptr) {
    sampler_of<Writes>(*this_slot).countdown = 0;  // the next call comes here, too
    const int error = call();
    sampler_of<Writes>(*thread).acquisitions += error == 0 ? 1 : 0;
    return error;
  }
  sampler& samples = sampler_of<Writes>(*thread);
  const std::uint32_t weight = samples.countdown < 0 ? next_sample(*thread, samples, ticks()) : 0;
  record& entry = record_of<Writes>(*target, words, caller);
  const std::uint32_t stack =
      weight != 0 ? stack_if_due(*target, *thread, entry, caller, samples.last_sample) : 0;
  // Without a second look: a trylock, a little later, would often avoid a wait that the program has.
  int error = is_held ? EBUSY : try_real<Writes>(lock);
  const bool waits = error == EBUSY;
  if (waits) {
    error = wait_for<Writes>(*target, *thread, entry, words, caller, call);
  }
  if (error != 0) {
    note_error(entry, take_back(samples, weight), waits);
    return error;
  }
  if (Writes) {
    set_site(words, caller | is_write);
  } else if (weight != 0) {
    set_site(words, caller);
  }
  if (weight != 0) {
    begin_section(
        *target, *thread, entry, words,
        {.weight = weight, .previous = 0, .stack = stack, .by_trylock = false, .caller = caller});
  }
  return 0;
}

template <bool Writes, class Call>
[[gnu::always_inline]] inline int lock_profiled(pthread_rwlock_t* lock, std::uint64_t caller,
                                                Call call) {
  rwlock_words& words = rwlock_words::of(lock);
  if (--sampler_of<Writes>(*this_slot).countdown < 0 || holds_up(words, Writes)) [[unlikely]] {
    return lock_slow<Writes>(lock, caller, call);
  }
  const int error = call();
  if (error != 0) [[unlikely]] {
    take_back(sampler_of<Writes>(*this_slot), 0);
  } else if (Writes) {
    set_site(words, caller | is_write);
  }
  return error;
}

template <bool Writes, class Call>
[[gnu::always_inline]] inline int lock_inline(pthread_rwlock_t* lock, std::uint64_t caller,
                                              Call call) {
  const int error = lock_profiled<Writes>(lock, caller, call);
  speedup::note_held(error == 0);
  return error;
}

/// Records an attempt: a failed one, or a sampled acquisition.
template <bool Writes>
[[gnu::noinline]] void note_attempt(rwlock_words& words, bool is_inside, std::uint64_t caller) {
  thread_slot* thread = nullptr;
  profile_buffer* target = buffer_for_call(thread, false);
  if (target == nullptr) {
    sampler_of<Writes>(*thread).acquisitions += is_inside ? 1 : 0;
    return;
  }
  record& entry = record_of<Writes>(*target, words, caller);
  if (!is_inside) {
    note_failure(*target, *thread, entry);
    return;
  }
  begin_section(*target, *thread, entry, words,
                {.weight = next_sample(*thread, sampler_of<Writes>(*thread), ticks()),
                 .previous = 0,
                 .stack = 0,
                 .by_trylock = true,
                 .caller = caller});
}

template <bool Writes>
int try_lock(pthread_rwlock_t* lock, std::uint64_t caller) {
  rwlock_words& words = rwlock_words::of(lock);
  const int error = try_real<Writes>(lock);
  speedup::note_held(error == 0);
  if (error == 0) {
    if (Writes) {
      set_site(words, caller | is_write);
    }
    if (--sampler_of<Writes>(*this_slot).countdown < 0) {
      note_attempt<Writes>(words, true, caller);
    }
  } else if (error == EBUSY) {
    note_attempt<Writes>(words, false, caller);
  }
  return error;
}

[[gnu::noinline]] void end_sampled(const rwlock_words& words, std::uint64_t caller) {
  if (profile_buffer* target = attached(); target != nullptr) {
    end_section(*target, *this_slot, words, caller);
  }
}

}  // namespace

int init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attributes, std::uint64_t caller) {
  const int error = real.rwlock_init(lock, attributes);
  profile_buffer* target = attached();
  init_table* inits = target != nullptr ? &target->inits : early_inits();
  if (error == 0 && inits != nullptr && this_slot != &unassigned_slot) {
    rwlock_words& words = rwlock_words::of(lock);
    note_init(target, *inits, *this_slot, caller, words.link, words.number);
  }
  return error;
}

int lock_read(pthread_rwlock_t* lock, std::uint64_t caller) {
  return lock_inline<false>(lock, caller, [lock] { return real.rwlock_rdlock(lock); });
}

int try_lock_read(pthread_rwlock_t* lock, std::uint64_t caller) {
  return try_lock<false>(lock, caller);
}

int lock_read_until(pthread_rwlock_t* lock, clockid_t clock, const timespec* deadline,
                    std::uint64_t caller) {
  return lock_inline<false>(lock, caller, [=] {
    return clock == CLOCK_REALTIME ? real.rwlock_timedrdlock(lock, deadline)
                                   : real.rwlock_clockrdlock(lock, clock, deadline);
  });
}

int lock_write(pthread_rwlock_t* lock, std::uint64_t caller) {
  return lock_inline<true>(lock, caller, [lock] { return real.rwlock_wrlock(lock); });
}

int try_lock_write(pthread_rwlock_t* lock, std::uint64_t caller) {
  return try_lock<true>(lock, caller);
}

int lock_write_until(pthread_rwlock_t* lock, clockid_t clock, const timespec* deadline,
                     std::uint64_t caller) {
  return lock_inline<true>(lock, caller, [=] {
    return clock == CLOCK_REALTIME ? real.rwlock_timedwrlock(lock, deadline)
                                   : real.rwlock_clockwrlock(lock, clock, deadline);
  });
}

int unlock(pthread_rwlock_t* lock, std::uint64_t caller) {
  speedup::note_wake(lock);
  rwlock_words& words = rwlock_words::of(lock);
  if (this_slot->open_sections != 0) [[unlikely]] {
    end_sampled(words, caller);
  }
  if ((__atomic_load_n(&words.site, __ATOMIC_RELAXED) & is_write) != 0) {
    set_site(words, 0);
  }
  const int error = real.rwlock_unlock(lock);
  speedup::note_released();
  return error;
}

}  // namespace kept
}  // namespace lockwright::probe
