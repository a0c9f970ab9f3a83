#include "probe/speedup.hpp"

#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <atomic>

#include "lockwright/env/native/syscall.hpp"
#include "probe/clock.hpp"
#include "probe/lives.hpp"
#include "probe/mutex_words.hpp"
#include "probe/records.hpp"
#include "probe/section_usage.hpp"
#include "probe/state.hpp"

namespace lockwright::probe::speedup {
namespace {

/// The calling thread's section under chosen mutexes, nested ones included.
struct section {
  static constexpr std::uint32_t most = 8;

  std::uint32_t depth;
  std::uint32_t share;   ///< when it began
  std::uint64_t begin;   ///< later by waits in it
  const void* of[most];  ///< its mutexes: they may be chosen no more when they are released

  void add(const void* mutex) {
    if (depth < most) {
      of[depth++] = mutex;
    }
  }

  /// Returns whether the mutex was one of them.
  bool remove(const void* mutex) {
    for (std::uint32_t i = depth; i-- > 0;) {
      if (of[i] == mutex) {
        std::copy(of + i + 1, of + depth, of + i);
        --depth;
        return true;
      }
    }
    return false;
  }
};
thread_local constinit section own{};

/// The locks that the calling thread holds.
struct holding {
  std::uint32_t count;
  std::uint64_t none_at;  ///< ticks when it released the last one

  void add() { ++count; }

  void remove(std::uint64_t now) {
    count -= count != 0 ? 1 : 0;
    none_at = count == 0 ? now : none_at;
  }
};
thread_local constinit holding held{};

/// Calls of the calling thread that may have ended waits.
struct signals {
  std::uint64_t last;  ///< ticks
  bool is_new;         ///< since it last released a mutex
};
thread_local constinit signals own_signals{};

/// What the calling thread did up to its last look at that, in ticks.
struct activity {
  std::uint64_t window;  ///< its number; there is a look in each
  std::uint64_t now;
  std::uint64_t ran;
  std::uint64_t ready;  ///< to run, without a processor
};
thread_local constinit activity last_look{};
thread_local constinit std::uint64_t last_payment = 0;
thread_local constinit std::uint64_t overpaid = 0;    // ticks, by sleeps that lasted too long
thread_local constinit std::uint64_t would_wait = 0;  // ticks owed since follow() found no wait

/// Debts longer than this, in ticks, are worth a look, which takes some microseconds.
std::uint64_t long_debt() { return 50 * ticks_per_microsecond(); }

/// A sleep lasts some fifty microseconds longer than asked, so that shorter ones are not slept.
std::uint64_t shortest_sleep() { return 200 * ticks_per_microsecond(); }

/// A thread that has made no call for so long, in ticks, that ends waits guards nothing by them; one that
/// holds a lock for so long may hold it to its end.
std::uint64_t long_time() { return 10'000 * ticks_per_microsecond(); }

/// The last calls; objects of one place share them.
struct noted_wakes {
  std::atomic<std::uint32_t> count;
  wake calls[4];
};
constinit noted_wakes all_noted[1024]{};

noted_wakes& noted(const void* object) {
  const auto address = reinterpret_cast<std::uint64_t>(object);
  return all_noted[(address >> 3 ^ address >> 13) % 1024];
}

constinit usage_of_place all_usage[4096]{};

usage_of_place& usage_of(const void* mutex) {
  const auto address = reinterpret_cast<std::uint64_t>(mutex);
  return all_usage[(address >> 3 ^ address >> 15) % 4096];
}

/// Returns the object whose waits a reader ends with its section.
const void* readers_of(const pthread_mutex_t* mutex) {
  return reinterpret_cast<const char*>(mutex) + 8;
}

/// When a wait ended, if it is known: the level of the thread that ended it, and the time by its clock.
struct waking {
  std::uint64_t at;  ///< ticks by the real clock
  std::uint64_t level;

  [[nodiscard]] std::uint64_t by_own_clock() const { return at - level; }
};

/// Finds the first call for an object after a time, or the last one. Returns whether there is one.
bool find(const void* object, std::uint64_t after, bool is_first, std::uint64_t floor,
          waking& found) {
  bool has = false;
  for (const wake& each : noted(object).calls) {
    const std::uint64_t at = each.at.load(std::memory_order_acquire);
    if (at > after && (!has || (at < found.at) == is_first)) {
      // The other thread may not have been told of this window yet.
      found = {.at = at, .level = std::max(each.level.load(std::memory_order_relaxed), floor)};
      has = true;
    }
  }
  return has;
}

bool are_readers_together(const experiments& at) {
  return at.share.load(std::memory_order_relaxed) == experiments::readers_together;
}

/// Does so for the releases of a mutex, by readers, too.
bool find_release(const experiments& at, const pthread_mutex_t* mutex, std::uint64_t after,
                  bool is_first, waking& found) {
  const std::uint64_t floor = at.floor.load(std::memory_order_relaxed);
  const bool has = find(mutex, after, is_first, floor, found);
  waking other{};
  if (!are_readers_together(at) || !find(readers_of(mutex), after, is_first, floor, other)) {
    return has;
  }
  if (!has || (other.at < found.at) == is_first) {
    found = other;
  }
  return true;
}

std::uint64_t level(const thread_slot& thread) {
  return thread.delays_paid + thread.delays_forgiven;
}

/// Returns the calling thread's level with what its section adds so far.
std::uint64_t level_in_section(std::uint64_t now) {
  return level(*this_slot) + (own.depth != 0 ? above(own.begin, now) * own.share / 100 : 0);
}

/// Notes that the calling thread ends waits for an object, earlier by what its section is shorter.
void note(const void* object, std::uint64_t by_level, std::uint64_t now) {
  noted_wakes& known = noted(object);
  known.calls[known.count.fetch_add(1, std::memory_order_relaxed) % 4].set(by_level, now);
}

/// From the release of a mutex to the end of a wait for it, in ticks: the average of the last ones, of which
/// those that had no processor count as four times as long at most.
constinit std::atomic<std::uint64_t> wake_latency{0};

void add_latency(std::uint64_t ticks) {
  const std::uint64_t known = wake_latency.load(std::memory_order_relaxed);
  const std::uint64_t next =
      known == 0 ? ticks : known - known / 32 + std::min(ticks, 4 * known) / 32;
  wake_latency.store(next, std::memory_order_relaxed);
}

/// A thread that waits for a shorter time, in ticks, has not fallen asleep yet.
std::uint64_t shortest_wait() { return ticks_per_microsecond() / 2; }

/// Called with a mutex just acquired. Lets the calling thread wait for its last holder, by their clocks: it
/// owes that time again, and what it would have taken to wake up. If there are more threads than
/// processors, another one uses that time.
void follow(const experiments& at, const usage& of) {
  const std::uint64_t now = ticks();
  const std::uint64_t missed = of.missed_wait(at.floor.load(std::memory_order_relaxed),
                                              last_look.window, now - level(*this_slot));
  if (missed != 0) {
    const bool is_crowded = at.is_crowded.load(std::memory_order_relaxed) != 0;
    const std::uint64_t wait =
        missed +
        (is_crowded || missed < shortest_wait() ? 0 : wake_latency.load(std::memory_order_relaxed));
    this_slot->delays_forgiven -= wait;
    would_wait += wait;
  }
}

/// Returns whether more may be owed.
bool is_open(const experiments& at) {
  return at.owed.load(std::memory_order_relaxed) < at.limit.load(std::memory_order_relaxed);
}

/// Raises the level that all threads shall have, but not in controls or beyond the limit.
void raise(experiments& at, std::uint64_t to) {
  std::uint64_t owed = at.owed.load(std::memory_order_relaxed);
  while (above(owed, to) != 0 && at.share.load(std::memory_order_relaxed) != 0 && is_open(at) &&
         !at.owed.compare_exchange_weak(owed, to, std::memory_order_acq_rel)) {
  }
}

/// Returns the buffer of the process; null if the calling thread has no slot in it.
profile_buffer* current() {
  profile_buffer* target = attached();
  const bool has_slot = this_slot != &unassigned_slot && this_slot->number != no_number;
  return target != nullptr && has_slot ? target : nullptr;
}

/// Returns whether others may have to wait for the calling thread.
bool holds_up() {
  return own.depth != 0 || (held.count != 0 && above(held.none_at, ticks()) < long_time());
}

/// Returns whether waits for chosen locks count as none at present.
bool spares_any() {
  const profile_buffer* target = attached();
  return target != nullptr &&
         target->running.share.load(std::memory_order_relaxed) == experiments::no_waits &&
         is_open(target->running);
}

/// Returns whether one is a caller whose sections go together at present.
bool is_reader(const profile_buffer& target, std::uint64_t caller) {
  const experiments& at = target.running;
  return are_readers_together(at) &&
         std::any_of(std::begin(at.readers), std::end(at.readers), [=](const counter& each) {
           return each.load(std::memory_order_relaxed) == caller;
         });
}

/// Returns what the holder of a mutex is to others.
holder holder_of(const profile_buffer& target, pthread_mutex_t* mutex, bool is_chosen) {
  if (!is_chosen || !are_readers_together(target.running)) {
    return holder::only;
  }
  const std::uint64_t caller = mutex_words::of(mutex).site & address_bits;
  return is_reader(target, caller) ? holder::reader : holder::writer;
}

/// Takes a wait, in ticks, out of the calling thread's section. Returns the buffer if another thread ended
/// the wait, or null.
profile_buffer* buffer_after_wait(std::uint64_t waited, bool woken) {
  profile_buffer* target = current();
  if (target != nullptr) {
    own.begin += waited;  // of no meaning outside sections
  }
  return woken ? target : nullptr;
}

/// Returns the flags of a mutex's record, and further bits; 0 if it has none.
std::uint32_t flags_of(profile_buffer& target, pthread_mutex_t* mutex) {
  const mutex_words& words = mutex_words::of(mutex);
  const record* known = is_profiled(words) ? known_record(target, words) : nullptr;
  return known != nullptr ? __atomic_load_n(&known->kind, __ATOMIC_RELAXED) : 0;
}

void look(std::uint64_t window) {
  last_look = {.window = window,
               .now = ticks(),
               .ran = ran_ns() * ticks_per_microsecond() / 1000,
               .ready = ready_ns() * ticks_per_microsecond() / 1000};
}

std::uint64_t part(std::uint64_t of, std::uint64_t numerator, std::uint64_t denominator) {
  return static_cast<std::uint64_t>(static_cast<double>(of) *
                                    static_cast<double>(std::min(numerator, denominator)) /
                                    static_cast<double>(std::max<std::uint64_t>(denominator, 1)));
}

/// Pays a long debt as the time was spent for which it is owed. While the thread was ready to run
/// without a processor it made no progress, which is forgiven; a delay would make others wait for the
/// processor instead. While it ran, it has to occupy a processor again; else it sleeps as it did.
/// Returns the part to be slept.
std::uint64_t divide(std::uint64_t& debt, thread_slot& self, std::uint64_t now) {
  const activity before = last_look;
  look(before.window);
  const std::uint64_t ready = last_look.ready - before.ready;
  const std::uint64_t forgiven = part(debt, ready, now - last_payment);
  self.delays_forgiven += forgiven;
  debt -= forgiven;
  const std::uint64_t active = above(before.now + ready, last_look.now);
  return debt - part(debt, last_look.ran - before.ran, active);
}

/// Lets the time pass until `end`, asleep for `asleep` of it.
void pass(std::uint64_t end, std::uint64_t asleep) {
  const std::uint64_t wake = std::min(end, ticks() + asleep);
  for (std::uint64_t now = ticks(); above(now, end) != 0; now = ticks()) {
    if (const std::uint64_t left = above(now, wake); left > shortest_sleep()) {
      // Half of it, since the clock's rate is known to a factor of two only.
      const std::uint64_t ns = left / 2 * 1000 / ticks_per_microsecond();
      const timespec time{.tv_sec = static_cast<time_t>(ns / 1'000'000'000),
                          .tv_nsec = static_cast<long>(ns % 1'000'000'000)};
      native_env::system_call(SYS_nanosleep, native_env::argument(&time), 0);
    } else {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }
}

}  // namespace

void pay() {
  profile_buffer* target = current();
  if (target == nullptr || holds_up()) {
    return;
  }
  thread_slot& self = *this_slot;
  const experiments& at = target->running;
  if (const std::uint64_t window = at.window.load(std::memory_order_acquire);
      window != last_look.window) {
    self.delays_forgiven += above(level(self), at.floor.load(std::memory_order_relaxed));
    look(window);
    overpaid = 0;
  }
  const std::uint64_t now = ticks();
  std::uint64_t debt = above(level(self), at.owed.load(std::memory_order_acquire));
  const std::uint64_t used = std::min(debt, overpaid);
  overpaid -= used;
  self.delays_forgiven += used;
  debt -= used;
  if (debt != 0) {
    // A wait for a mutex is slept, however the time before it was spent.
    const std::uint64_t wait = std::min(debt, would_wait);
    std::uint64_t rest = debt - wait;
    const std::uint64_t asleep = rest > long_debt() ? divide(rest, self, now) : 0;
    debt = wait + rest;
    pass(now + debt, wait + asleep);
    self.delays_paid += debt;
    overpaid += ticks() - now - debt;
  }
  would_wait = 0;
  last_payment = ticks();
}

/// Lets the calling thread wait while it is one of those that a program with fewer threads lacks.
void park() {
  const profile_buffer* target = current();
  if (target == nullptr || holds_up()) {
    return;
  }
  const std::uint32_t& is_parked = this_slot->is_parked;
  while (__atomic_load_n(&is_parked, __ATOMIC_RELAXED) != 0 &&
         above(ticks(), target->running.parked_until.load(std::memory_order_relaxed)) != 0) {
    constexpr timespec nap{.tv_sec = 0, .tv_nsec = 500'000};
    native_env::system_call(SYS_nanosleep, native_env::argument(&nap), 0);
  }
}

void pay_after_release() {
  if (own_signals.is_new || above(own_signals.last, ticks()) > long_time()) {
    own_signals.is_new = false;
    pay();
    park();
  }
}

void enter(pthread_mutex_t* mutex, bool is_counted) {
  held.add();
  profile_buffer* target = current();
  if (target == nullptr) {
    return;
  }
  const std::uint32_t flags = flags_of(*target, mutex);
  if (is_counted && (flags & record::is_metered) != 0) {
    target->running.progress.fetch_add(1, std::memory_order_relaxed);
  }
  const experiments& at = target->running;
  const std::uint32_t share = at.share.load(std::memory_order_relaxed);
  const bool is_chosen = (flags & record::is_chosen) != 0;
  usage_of_place& used = usage_of(mutex);
  const holder of = holder_of(*target, mutex, is_chosen);
  if (!is_chosen || share != experiments::no_waits) {
    follow(at, used.before(of));
  }
  const std::uint64_t now = ticks();
  used.enter(of, last_look.window, now - level(*this_slot));
  if (!is_chosen) {
    return;
  }
  if (own.depth == 0) {
    own.share = is_open(at) && share <= 100 ? share : 0;
    own.begin = now;
  }
  own.add(mutex);
}

void leave(pthread_mutex_t* mutex) {
  const std::uint64_t now = ticks();
  held.remove(now);
  profile_buffer* target = current();
  if (target == nullptr) {
    return;
  }
  const std::uint64_t reached = level_in_section(now);
  const bool is_chosen = own.remove(mutex);
  const holder of = holder_of(*target, mutex, is_chosen);
  usage_of(mutex).leave(of, reached, now);
  if (is_chosen && own.depth == 0) {
    this_slot->delays_forgiven += reached - level(*this_slot);
    raise(target->running, reached);
  }
  // The C library's mutex does not always show that a thread waits, if another one took it meanwhile.
  if (is_chosen || __atomic_load_n(&mutex_words::of(mutex).lock, __ATOMIC_RELAXED) > 1) {
    note(of == holder::reader ? readers_of(mutex) : mutex, reached, now);
  }
}

void note_held(bool was_acquired) {
  if (was_acquired) {
    held.add();
  }
}

void note_released() {
  held.remove(ticks());
  pay_after_release();
}

void note_wake(const void* object) {
  pay();
  own_signals = {.last = ticks(), .is_new = true};
  if (current() != nullptr) {
    const std::uint64_t now = ticks();
    note(object, level_in_section(now), now);
  }
}

bool spares_waits(const record& of) {
  return (__atomic_load_n(&of.kind, __ATOMIC_RELAXED) & record::is_chosen) != 0 && spares_any();
}

bool spares_waits(const wait_object& of) {
  return __atomic_load_n(&of.is_chosen, __ATOMIC_RELAXED) != 0 && spares_any();
}

bool is_reader(const record& of, std::uint64_t site) {
  const profile_buffer* target = attached();
  return target != nullptr && is_open(target->running) && is_reader(*target, site) &&
         (__atomic_load_n(&of.kind, __ATOMIC_RELAXED) & record::is_chosen) != 0;
}

void begin_thread(const profile_buffer& target, thread_slot& thread) {
  thread.delays_forgiven +=
      above(level(thread), target.running.owed.load(std::memory_order_acquire));
}

waiting::waiting() : begin_(ticks()) {}

void waiting::end(bool woken, const void* object, const void* other, pthread_mutex_t* lock,
                  bool is_spared) const {
  const std::uint64_t waited = ticks() - begin_;
  profile_buffer* target = buffer_after_wait(waited, woken);
  if (target == nullptr) {
    return;
  }
  experiments& at = target->running;
  thread_slot& self = *this_slot;
  const std::uint64_t before = level(self);
  if (object == nullptr) {
    self.delays_forgiven +=
        std::min(above(before, at.owed.load(std::memory_order_acquire)), waited);
    return;
  }
  if (is_spared && other == nullptr) {
    raise(at, before + waited);
    self.delays_forgiven += waited;
    return;
  }
  const std::uint64_t floor = at.floor.load(std::memory_order_relaxed);
  waking last{};
  const bool is_known = lock != nullptr && object == lock
                            ? find_release(at, lock, begin_, false, last)
                            : find(object, begin_, false, floor, last);
  if (!is_known) {
    return;
  }
  waking after{};
  const bool has_after = other != nullptr && find(other, last.at, false, floor, after);
  if (has_after && is_spared) {
    raise(at, last.level + after.at - last.at);
    self.delays_forgiven += last.level + after.at - last.at - before;
    return;
  }
  if (has_after && after.by_own_clock() > last.by_own_clock()) {
    last = after;
  }
  // By these clocks the wait may have ended before it began. Others may have taken a mutex since its first
  // release.
  const std::uint64_t begin = begin_ - before;
  waking first = last;
  if (lock != nullptr) {
    find_release(at, lock, begin_, true, first);
  }
  std::uint64_t to = last.level;
  if (above(begin, first.by_own_clock()) == 0) {
    to = before + waited;
    raise(at, to);
  } else if (lock != nullptr && object == lock) {
    add_latency(above(last.at, ticks()));
  }
  self.delays_forgiven += to - before;
}

void waiting::end_of_reader(bool woken, pthread_mutex_t* lock) const {
  const std::uint64_t waited = ticks() - begin_;
  profile_buffer* target = buffer_after_wait(waited, woken);
  if (target == nullptr) {
    return;
  }
  experiments& at = target->running;
  const std::uint64_t floor = at.floor.load(std::memory_order_relaxed);
  const std::uint64_t before = level(*this_slot);
  std::uint64_t to = before + waited;
  waking writer{};
  waking reader{};
  if (find(lock, begin_, false, floor, writer) &&
      above(begin_ - before, writer.by_own_clock()) != 0) {
    // What readers had it for between the last writer and this one.
    to = writer.level +
         (find(readers_of(lock), writer.at, false, floor, reader) ? reader.at - writer.at : 0);
  }
  raise(at, to);
  this_slot->delays_forgiven += to - before;
}

}  // namespace lockwright::probe::speedup
