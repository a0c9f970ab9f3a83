// pthread_cond_*: the C library's own, which need its own mutexes. What is added is the end of a
// measured holding before a wait and its continuation after, and counts. A wait gives the mutex
// back and takes it again inside the C library, so the time for which a woken thread waits for the
// mutex is not seen as such.
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

/// Which mutex a condition variable was last waited with, by its address; what does not fit pushes
/// out what was there.
struct pairing {
  std::atomic<std::uint64_t> cond;
  std::atomic<std::uint32_t> record;
};
constinit pairing pairings[1024];

pairing& pairing_of(const pthread_cond_t* cond) {
  const auto address = reinterpret_cast<std::uint64_t>(cond);
  return pairings[(address >> 4 ^ address >> 14) % 1024];
}

/// A wait as it is seen from outside.
class pause {
 public:
  pause(pthread_cond_t* cond, pthread_mutex_t* mutex) : its(mutex_words::of(mutex)) {
    thread = this_slot;
    target = thread != &unassigned_slot && is_profiled(its) ? attached() : nullptr;
    if (target == nullptr) {
      return;
    }
    ++thread->cond_waits;
    of = &record_of(*target, its, its.site & address_bits);
    ++of->cond_waits;
    of->futile_wakeups += (its.site & is_woken) != 0 ? 1 : 0;
    pairing& last = pairing_of(cond);
    last.record.store(number_of(*target, *of), std::memory_order_relaxed);
    last.cond.store(reinterpret_cast<std::uint64_t>(cond), std::memory_order_relaxed);
    if ((its.site & is_timed) != 0) {
      weight = of->hold_weight;
      site = of->hold_site;
      end_hold(its, 0);
    }
    if (__atomic_load_n(&its.lock, __ATOMIC_RELAXED) > 1) {
      note_release(its);
    }
  }

  int end(int error, std::uint64_t caller) {
    if (target == nullptr) {
      return error;
    }
    caller |= error == 0 ? is_woken : 0;
    if (is_simple(its)) {
      its.count = thread->tid;
    }
    if (weight == 0) {
      __atomic_store_n(&its.site, caller, __ATOMIC_RELAXED);
      return error;
    }
    of->hold_weight = weight;
    of->hold_site = site;
    of->hold_stack = 0;
    of->usage_begin = 0;
    resume_hold(*of, its, caller);
    return error;
  }

 private:
  mutex_words& its;
  thread_slot* thread = nullptr;
  profile_buffer* target = nullptr;
  record* of = nullptr;
  std::uint64_t weight = 0;
  std::uint64_t site = 0;
};

void note_signal(const pthread_cond_t* cond) {
  profile_buffer* target = attached();
  const pairing& last = pairing_of(cond);
  if (target != nullptr &&
      last.cond.load(std::memory_order_relaxed) == reinterpret_cast<std::uint64_t>(cond)) {
    target->records[last.record.load(std::memory_order_relaxed)].cond_signals.fetch_add(
        1, std::memory_order_relaxed);
  }
}

}  // namespace

int cond_wait(pthread_cond_t* cond, pthread_mutex_t* with, std::uint64_t caller) {
  pause here(cond, with);
  return here.end(real.cond_wait(cond, with), caller);
}

int cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* with, const timespec* deadline,
                   std::uint64_t caller) {
  pause here(cond, with);
  return here.end(real.cond_timedwait(cond, with, deadline), caller);
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
  lockwright::probe::pause here(cond, with);
  return here.end(lockwright::interpose::real.cond_clockwait(cond, with, clock, deadline),
                  LOCKWRIGHT_CALLER);
}

int lockwright_cond_signal(pthread_cond_t* cond) noexcept {
  return lockwright::probe::cond_signal(cond);
}

int lockwright_cond_broadcast(pthread_cond_t* cond) noexcept {
  return lockwright::probe::cond_broadcast(cond);
}

}  // extern "C"

// Only today's: programs from before them have condition variables of another layout, which pass by
// this library.
VERSIONED_DEFAULT(lockwright_cond_wait, "pthread_cond_wait", COND_VERSION);
VERSIONED_DEFAULT(lockwright_cond_timedwait, "pthread_cond_timedwait", COND_VERSION);
VERSIONED_DEFAULT(lockwright_cond_signal, "pthread_cond_signal", COND_VERSION);
VERSIONED_DEFAULT(lockwright_cond_broadcast, "pthread_cond_broadcast", COND_VERSION);
VERSIONED_DEFAULT(lockwright_cond_clockwait, "pthread_cond_clockwait", "GLIBC_2.34");
VERSIONED_OLD(lockwright_cond_clockwait, old, "pthread_cond_clockwait", "GLIBC_2.30");
