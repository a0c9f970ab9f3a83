// pthread_cond_*: calls of the C library's functions, which need its own mutexes. They are counted,
// and a wait interrupts the measurement of a holding time. The C library releases and reacquires
// the mutex inside a wait, so a woken thread's wait for the mutex is not measured.
#include "probe/cond.hpp"

#include <errno.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "probe/account.hpp"
#include "probe/clock.hpp"
#include "probe/mutex.hpp"
#include "probe/mutex_words.hpp"
#include "probe/records.hpp"
#include "probe/speedup.hpp"
#include "probe/state.hpp"
#include "probe/waits.hpp"

namespace lockwright::probe {
namespace {

using interpose::real;

/// What is known of a condition variable, by its address; a colliding entry replaces the old one. The
/// counts of wake-ups are of waits that no deadline ended, and are changed under its mutex.
struct alignas(64) known_cond {
  std::atomic<std::uint64_t> address;
  std::atomic<std::uint32_t> record;   ///< of the mutex of the last wait
  std::atomic<std::uint32_t> waiting;  ///< threads in a wait; changed under its mutex
  std::atomic<std::uint32_t> pending;  ///< calls for which no thread has returned yet
  std::atomic<std::uint64_t> served;   ///< calls that wake, while a thread waited
  std::uint64_t woken;
  std::uint64_t futile;
  std::uint64_t doubtful;  ///< the thread waited again at once, but changed memory before
  std::uint64_t looks;     ///< further wake-ups at which memory is looked at
};
constinit known_cond conds[1024]{};

/// A look at memory reads some 300 words, and is of no use where threads do not wait again at once: it
/// ends with so many wake-ups in a row, and begins with the next of the other kind.
constexpr std::uint64_t most_looks = 64;

known_cond& entry_of(const pthread_cond_t* cond) {
  const auto address = reinterpret_cast<std::uint64_t>(cond);
  return conds[(address >> 4 ^ address >> 14) % 1024];
}

bool is_of(const known_cond& entry, const pthread_cond_t* cond) {
  return entry.address.load(std::memory_order_relaxed) == reinterpret_cast<std::uint64_t>(cond);
}

/// Returns the entry, emptied if it was another's.
known_cond& claim(const pthread_cond_t* cond, std::uint32_t record) {
  known_cond& entry = entry_of(cond);
  if (!is_of(entry, cond)) {
    entry.waiting = 0;
    entry.pending = 0;
    entry.served = 0;
    entry.woken = entry.futile = entry.doubtful = 0;
    entry.looks = most_looks;
    entry.address = reinterpret_cast<std::uint64_t>(cond);
  }
  entry.record.store(record, std::memory_order_relaxed);
  return entry;
}

/// The longest time from a wake-up to the next wait of a thread that only looks whether it has to
/// wait: a hundred accesses that miss the caches, of 100 ns each.
std::uint64_t longest_look() { return 10 * ticks_per_microsecond(); }

/// Memory on both sides of a mutex and of a condition variable in which the data that they protect
/// probably lie; and of a caller's stack.
constexpr std::uint64_t beside = 512;
constexpr std::uint64_t of_stack = 256;
/// Bytes below a frame's address at which the caller's registers are saved.
#if defined(__x86_64__)
constexpr std::uint64_t saved_registers = 5 * sizeof(std::uint64_t);
#else
constexpr std::uint64_t saved_registers = 0;
#endif

constexpr std::uint64_t page = 4096;

struct range {
  std::uint64_t begin;
  std::uint64_t end;
};

template <class Object>
range range_of(const Object* object) {
  const auto address = reinterpret_cast<std::uint64_t>(object);
  return {.begin = address, .end = address + sizeof(Object)};
}

/// Returns the range with what lies beside it, as far as that is in the pages of the mutex. These are
/// mapped, since the caller holds it; a condition variable may be unmapped once it was signalled.
range with_neighbours(range of, range mutex) {
  return {.begin = std::max(of.begin - beside, mutex.begin & ~(page - 1)),
          .end = std::min(of.end + beside, ((mutex.end - 1) | (page - 1)) + 1)};
}

/// Returns a hash of the words that two objects do not overlap. Other threads may change them.
[[gnu::no_sanitize_address, gnu::no_sanitize_thread]] std::uint64_t digest(std::uint64_t hash,
                                                                           range words, range one,
                                                                           range other) {
  for (std::uint64_t each = words.begin & ~std::uint64_t{7}; each + 8 <= words.end; each += 8) {
    if ((each + 8 <= one.begin || each >= one.end) &&
        (each + 8 <= other.begin || each >= other.end)) {
      hash = (hash ^ *reinterpret_cast<const volatile std::uint64_t*>(each)) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
  }
  return hash;
}

/// A thread's last return from a wait.
struct wakeup {
  const pthread_cond_t* cond;
  std::uint64_t frame;  ///< address of the frame of the function that waited
  std::uint64_t calls;
  std::uint64_t time;
  std::uint64_t memory;
  bool has_looked;  ///< at memory
};
thread_local constinit wakeup last_wakeup{};

/// Calls by this thread that wake others.
thread_local constinit std::uint64_t wakes = 0;

/// Returns the number of the thread's calls that change what other threads see.
std::uint64_t calls_of(const thread_slot& thread) {
  const auto passed = [](const auto& of) {
    return of.acquisitions + of.drawn - static_cast<std::uint32_t>(of.countdown);
  };
  return wakes + passed(thread) + passed(thread.reads) + passed(thread.writes) +
         thread.rwlock_calls + thread.spin_calls + thread.failed_trylocks + thread.unprofiled;
}

/// A wait, observed from outside the C library. Of a caller that only looked whether to wait on, the
/// registers, the stack and the data did not change since it woke up.
class observed_wait {
 public:
  /// frame: address of the frame of the constructing function, which saved all registers in it.
  observed_wait(pthread_cond_t* on, pthread_mutex_t* with, std::uint64_t from, const void* frame)
      : cond(on),
        mutex(with),
        caller(from),
        waited(wait_object::condition, on, from),
        words(mutex_words::of(with)),
        base(reinterpret_cast<std::uint64_t>(frame)) {
    thread = this_slot;
    target = thread != &unassigned_slot && is_profiled(words) ? attached() : nullptr;
    if (target == nullptr) {
      return;
    }
    ++thread->cond_waits;
    entry = &record_of(*target, words, words.site & address_bits);
    ++entry->cond_waits;
    known_cond& known = claim(cond, number_of(*target, *entry));
    note_result(known);
    known.waiting.store(known.waiting.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
    if ((words.site & is_timed) != 0) {
      weight = entry->hold_weight;
      site = entry->hold_site;
      end_hold(words, 0);
    }
    if (__atomic_load_n(&words.lock, __ATOMIC_RELAXED) > 1) {
      note_release(words);
    }
  }

  int end(int error) {
    waits.end(error == 0, cond, mutex, nullptr, entry != nullptr && speedup::spares_waits(*entry));
    speedup::enter(mutex, false);
    const std::uint64_t now = waited.end(error == ETIMEDOUT);
    if (target == nullptr) {
      return error;
    }
    note_return(error == 0, now);
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
  std::uint64_t memory() const {
    const range one = range_of(mutex);
    const range other = range_of(cond);
    std::uint64_t stack_end = std::min(base + of_stack, (base | (page - 1)) + 1);
    // Above the stack, the variables of the thread, of which this library's change.
    if (const auto own = reinterpret_cast<std::uint64_t>(&last_wakeup); own > base) {
      stack_end = std::min(stack_end, own);
    }
    std::uint64_t hash = digest(0, {.begin = base - saved_registers, .end = stack_end}, one, other);
    hash = digest(hash, with_neighbours(one, one), one, other);
    return digest(hash, with_neighbours(other, one), one, other);
  }

  /// Decides whether the wake-up before this wait was futile.
  void note_result(known_cond& known) {
    const wakeup before = std::exchange(last_wakeup, {});
    if (before.cond != cond || before.frame != base || before.calls != calls_of(*thread) ||
        waited.called() - before.time > longest_look()) {
      return;
    }
    known.looks = most_looks;
    if (before.has_looked && before.memory == memory()) {
      ++known.futile;
      ++entry->futile_wakeups;
    } else {
      ++known.doubtful;
      settle(known);
    }
  }

  /// Counts doubtful wake-ups as futile as far as each call that wakes has another one that may have
  /// been useful: a thread may have taken what it was woken for, or counted that there was nothing.
  void settle(known_cond& known) {
    while (known.doubtful > 0 &&
           known.futile + known.served.load(std::memory_order_relaxed) < known.woken) {
      --known.doubtful;
      ++known.futile;
      ++entry->futile_wakeups;
    }
  }

  /// now: the time of the return.
  void note_return(bool is_woken, std::uint64_t now) {
    bool looks = is_woken;
    if (known_cond& known = entry_of(cond); is_of(known, cond)) {
      if (const std::uint32_t waiting = known.waiting.load(std::memory_order_relaxed);
          waiting > 0) {
        known.waiting.store(waiting - 1, std::memory_order_relaxed);
      }
      if (is_woken) {
        ++known.woken;
        looks = known.looks > 0;
        known.looks -= looks ? 1 : 0;
        if (known.pending.load(std::memory_order_relaxed) > 0) {
          known.pending.fetch_sub(1, std::memory_order_relaxed);
        }
        settle(known);
      }
    }
    last_wakeup = {.cond = is_woken ? cond : nullptr,
                   .frame = base,
                   .calls = calls_of(*thread),
                   .time = now,
                   .memory = 0,
                   .has_looked = looks};
    if (looks) {
      last_wakeup.memory = memory();
      last_wakeup.time = ticks();
    }
  }

  pthread_cond_t* cond;
  pthread_mutex_t* mutex;
  std::uint64_t caller;
  object_wait waited;
  [[no_unique_address]] speedup::waiting waits;
  mutex_words& words;
  std::uint64_t base;
  thread_slot* thread = nullptr;
  profile_buffer* target = nullptr;
  record* entry = nullptr;
  std::uint32_t weight = 0;
  std::uint64_t site = 0;
};

void note_signal(const pthread_cond_t* cond) {
  ++wakes;
  profile_buffer* target = attached();
  known_cond& known = entry_of(cond);
  if (target == nullptr || !is_of(known, cond)) {
    return;
  }
  target->records[known.record.load(std::memory_order_relaxed)].cond_signals.fetch_add(
      1, std::memory_order_relaxed);
  if (known.pending.load(std::memory_order_relaxed) <
      known.waiting.load(std::memory_order_relaxed)) {
    known.pending.fetch_add(1, std::memory_order_relaxed);
    known.served.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace

/// Begins the function of a wait.
#define OBSERVE_WAIT(cond, mutex, caller) \
  __builtin_unwind_init();                \
  speedup::leave(mutex);                  \
  observed_wait observed(cond, mutex, caller, __builtin_frame_address(0))

int cond_wait(pthread_cond_t* cond, pthread_mutex_t* with, std::uint64_t caller) {
  OBSERVE_WAIT(cond, with, caller);
  return observed.end(real.cond_wait(cond, with));
}

int cond_timedwait(pthread_cond_t* cond, pthread_mutex_t* with, const timespec* deadline,
                   std::uint64_t caller) {
  OBSERVE_WAIT(cond, with, caller);
  return observed.end(real.cond_timedwait(cond, with, deadline));
}

int cond_signal(pthread_cond_t* cond, std::uint64_t caller) {
  note_signal(cond);
  note_wake(wait_object::condition, cond, caller);
  return real.cond_signal(cond);
}

int cond_broadcast(pthread_cond_t* cond, std::uint64_t caller) {
  note_signal(cond);
  note_wake(wait_object::condition, cond, caller);
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
  using lockwright::probe::observed_wait;
  namespace speedup = lockwright::probe::speedup;
  OBSERVE_WAIT(cond, with, LOCKWRIGHT_CALLER);
  return observed.end(lockwright::interpose::real.cond_clockwait(cond, with, clock, deadline));
}

int lockwright_cond_signal(pthread_cond_t* cond) noexcept {
  return lockwright::probe::cond_signal(cond, LOCKWRIGHT_CALLER);
}

int lockwright_cond_broadcast(pthread_cond_t* cond) noexcept {
  return lockwright::probe::cond_broadcast(cond, LOCKWRIGHT_CALLER);
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
