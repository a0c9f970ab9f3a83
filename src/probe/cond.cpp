// pthread_cond_*: calls of the C library's functions, which need its own mutexes. They are counted,
// and a wait interrupts the measurement of a holding time. The C library releases and reacquires
// the mutex inside a wait, so a woken thread's wait for the mutex is not measured.
#include "probe/cond.hpp"

#include <atomic>

#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "probe/account.hpp"
#include "probe/mutex.hpp"
#include "probe/mutex_words.hpp"
#include "probe/records.hpp"
#include "probe/state.hpp"

namespace lockwright::probe {
namespace {

using interpose::real;

/// The mutex of the last wait on a condition variable, by its address; a colliding entry replaces
/// the old one.
struct pairing {
  std::atomic<std::uint64_t> cond;
  std::atomic<std::uint32_t> record;
};
constinit pairing pairings[1024];

pairing& pairing_of(const pthread_cond_t* cond) {
  const auto address = reinterpret_cast<std::uint64_t>(cond);
  return pairings[(address >> 4 ^ address >> 14) % 1024];
}

/// A wait, observed from outside the C library.
class observed_wait {
 public:
  observed_wait(pthread_cond_t* cond, pthread_mutex_t* mutex) : words(mutex_words::of(mutex)) {
    thread = this_slot;
    target = thread != &unassigned_slot && is_profiled(words) ? attached() : nullptr;
    if (target == nullptr) {
      return;
    }
    ++thread->cond_waits;
    entry = &record_of(*target, words, words.site & address_bits);
    ++entry->cond_waits;
    entry->futile_wakeups += (words.site & is_woken) != 0 ? 1 : 0;
    pairing& pair = pairing_of(cond);
    pair.record.store(number_of(*target, *entry), std::memory_order_relaxed);
    pair.cond.store(reinterpret_cast<std::uint64_t>(cond), std::memory_order_relaxed);
    if ((words.site & is_timed) != 0) {
      weight = entry->hold_weight;
      site = entry->hold_site;
      end_hold(words, 0);
    }
    if (__atomic_load_n(&words.lock, __ATOMIC_RELAXED) > 1) {
      note_release(words);
    }
  }

  int end(int error, std::uint64_t caller) {
    if (target == nullptr) {
      return error;
    }
    caller |= error == 0 ? is_woken : 0;
    if (is_simple(words)) {
      words.count = thread->tid;
    }
    if (weight == 0) {
      __atomic_store_n(&words.site, caller, __ATOMIC_RELAXED);
      return error;
    }
    entry->hold_weight = weight;
    entry->hold_site = site;
    entry->hold_stack = 0;
    entry->usage_begin = 0;
    resume_hold(*entry, words, caller);
    return error;
  }

 private:
  mutex_words& words;
  thread_slot* thread = nullptr;
  profile_buffer* target = nullptr;
  record* entry = nullptr;
  std::uint64_t weight = 0;
  std::uint64_t site = 0;
};

void note_signal(const pthread_cond_t* cond) {
  profile_buffer* target = attached();
  const pairing& pair = pairing_of(cond);
  if (target != nullptr &&
      pair.cond.load(std::memory_order_relaxed) == reinterpret_cast<std::uint64_t>(cond)) {
    target->records[pair.record.load(std::memory_order_relaxed)].cond_signals.fetch_add(
        1, std::memory_order_relaxed);
  }
}

}  // namespace

int cond_wait(pthread_cond_t* cond, pthread_mutex_t* with, std::uint64_t caller) {
  observed_wait observed(cond, with);
  return observed.end(real.cond_wait(cond, with), caller);
}

int cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* with, const timespec* deadline,
                   std::uint64_t caller) {
  observed_wait observed(cond, with);
  return observed.end(real.cond_timedwait(cond, with, deadline), caller);
}

int cond_signal(pthread_cond_t* cond) {
  note_signal(cond);
  return real.cond_signal(cond);
}

int cond_broadcast(pthread_cond_t* cond) {
  note_signal(cond);
  return real.cond_broadcast(cond);
}

}  // namespace lockwright::probe

extern "C" {

// Not noexcept, the three waits: a cancellation unwinds through them.

int lockwright_cond_wait(pthread_cond_t* cond, pthread_mutex_t* with) {
  return lockwright::probe::cond_wait(cond, with, LOCKWRIGHT_CALLER);
}

int lockwright_cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* with,
                              const timespec* deadline) {
  return lockwright::probe::cond_timedwait(cond, with, deadline, LOCKWRIGHT_CALLER);
}

int lockwright_cond_clockwait(pthread_cond_t* cond, pthread_mutex_t* with, clockid_t clock,
                              const timespec* deadline) {
  lockwright::probe::observed_wait observed(cond, with);
  return observed.end(lockwright::interpose::real.cond_clockwait(cond, with, clock, deadline),
                      LOCKWRIGHT_CALLER);
}

int lockwright_cond_signal(pthread_cond_t* cond) noexcept {
  return lockwright::probe::cond_signal(cond);
}

int lockwright_cond_broadcast(pthread_cond_t* cond) noexcept {
  return lockwright::probe::cond_broadcast(cond);
}

}  // extern "C"

// Only the current version: programs bound to the old one have condition variables of another
// layout, which bypass this library.
VERSIONED_DEFAULT(lockwright_cond_wait, "pthread_cond_wait", COND_VERSION);
VERSIONED_DEFAULT(lockwright_cond_timedwait, "pthread_cond_timedwait", COND_VERSION);
VERSIONED_DEFAULT(lockwright_cond_signal, "pthread_cond_signal", COND_VERSION);
VERSIONED_DEFAULT(lockwright_cond_broadcast, "pthread_cond_broadcast", COND_VERSION);
VERSIONED_DEFAULT(lockwright_cond_clockwait, "pthread_cond_clockwait", "GLIBC_2.34");
VERSIONED_OLD(lockwright_cond_clockwait, old, "pthread_cond_clockwait", "GLIBC_2.30");
