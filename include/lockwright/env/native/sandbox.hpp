// Sandboxes: a filter of system calls (seccomp) that may end the process for any call but those
// that the C library's mutex makes. The kernel does not say beforehand what a filter allows, so a
// lock makes no call but futex(2) in a process that has one.
#pragma once

#include <linux/futex.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "lockwright/env/native/clock.hpp"
#include "lockwright/env/native/file.hpp"

namespace lockwright::native_env {

enum class filter : std::uint32_t {
  unknown,  ///< to be looked for before the first call that it may forbid
  none,
  inherited,  ///< there was one when the program was started, or nothing can be found out
  installed,  ///< by the program itself, or about to be
};

inline constinit std::atomic<filter> known_filter{filter::unknown};

/// The threads that are making a call which a filter may forbid, counted in several places, since
/// waiters make such calls all the time.
struct alignas(64) callers {
  static constexpr unsigned places = 8;

  std::atomic<std::uint32_t> count;
};
inline constinit callers callers_at[callers::places]{};

inline callers& callers_here() {
  static constinit thread_local char place = 0;
  // Thread-local variables of two threads are pages apart. Fibonacci hashing, as in hint_of().
  const std::uint64_t page = reinterpret_cast<std::uintptr_t>(&place) >> 12;
  return callers_at[page * 0x9E37'79B9'7F4A'7C15u >> 61];
}

/// Sleeps for a moment, for about as long as the kernel's timers are late (50 µs), by the call that
/// every program with threads is allowed.
inline void nap(long nanoseconds = 1) {
  const std::uint32_t word = 0;
  const timespec length{0, nanoseconds};
  system_call(SYS_futex, argument(&word), FUTEX_WAIT_PRIVATE, 0, argument(&length));
}

/// A program that was started in a sandbox has a filter from the start. The dynamic linker has
/// opened and read files in it, and no other call that tells is as certain to be allowed. Without
/// "no new privileges" only a privileged process installs a filter: the runtime of a container, whose
/// filters let programs run that know nothing of them.
[[gnu::noinline]] inline void look_for_filter() {
  bool is_harmless = false;
  for (const char* field : {"Seccomp:", "NoNewPrivs:"}) {
    each_of_status(field, [&is_harmless](char c) { is_harmless |= c == '0'; });
  }
  filter unknown = filter::unknown;
  known_filter.compare_exchange_strong(unknown, is_harmless ? filter::none : filter::inherited);
}

inline bool is_filtered() {
  if (known_filter.load(std::memory_order_relaxed) == filter::unknown) {
    look_for_filter();
  }
  return known_filter.load(std::memory_order_relaxed) > filter::none;
}

/// Makes `call`, a lambda with system calls, unless there is a filter beyond `most`; returns whether
/// it did.
///
/// Invariant CALLS-COMPLETE: a filter is installed only after expect_filter(), and the thread that
/// installs it sees each caller here, or the caller sees the filter: both the increment and
/// the store there come before a load of the other word, all sequentially consistent.
template <class Call>
bool unless_filtered(Call call, filter most = filter::none) {
  if (is_filtered() && known_filter.load(std::memory_order_relaxed) > most) {
    return false;
  }
  std::atomic<std::uint32_t>& count = callers_here().count;
  count.fetch_add(1, std::memory_order_seq_cst);
  const bool allowed = known_filter.load(std::memory_order_seq_cst) <= most;
  if (allowed) {
    call();
  }
  count.fetch_sub(1, std::memory_order_release);
  return allowed;
}

/// The number of this process. Within a filter it is read from a file, for callers that read files
/// anyway.
inline std::uint32_t process_number() {
  std::uint32_t number = 0;
  if (!unless_filtered(
          [&number] { number = static_cast<std::uint32_t>(system_call(SYS_getpid)); })) {
    each_of_status("Pid:", [&number](char c) {
      number = c >= '0' && c <= '9' ? number * 10 + static_cast<std::uint32_t>(c - '0') : number;
    });
  }
  return number;
}

/// Lets another thread of this CPU run.
inline void yield() {
  if (!unless_filtered([] { system_call(SYS_sched_yield); })) {
    nap();
  }
}

/// Called before a thread installs a filter, which may be one for all threads. Waits for calls
/// that are under way; not forever, since a thread may be stopped in one, or exist only in the
/// parent of this process.
inline void expect_filter() {
  constexpr int most_naps = 10'000;
  if (known_filter.exchange(filter::installed, std::memory_order_seq_cst) == filter::installed) {
    return;
  }
  int naps = 0;
  for (callers& each : callers_at) {
    while (each.count.load(std::memory_order_seq_cst) != 0 && naps++ < most_naps) {
      nap();
    }
  }
}

/// Called in the child of a fork, whose thread makes no such call.
inline void forget_callers() {
  for (callers& each : callers_at) {
    each.count.store(0, std::memory_order_relaxed);
  }
}

/// A clock for a thread that may not read the processor's (PR_SET_TSC, or strict sandboxes), which
/// the C library's clock_gettime() does. Within a filter it has the time of the kernel's last tick,
/// which lies in memory, and counts its readings in between, so that a poller's time ends.
inline int clock_without_counter(clockid_t id, timespec* now) {
  constexpr long ns_of_a_reading = 200;
  constexpr long shortest_tick = 1'000'000;
  static constinit thread_local timespec last{};
  static constinit thread_local long readings = 0;
  if (!is_filtered()) {
    return system_call(SYS_clock_gettime, id, argument(now)) == 0 ? 0 : -1;
  }
  clock_gettime(id == CLOCK_REALTIME ? CLOCK_REALTIME_COARSE : CLOCK_MONOTONIC_COARSE, now);
  const bool is_same = now->tv_sec == last.tv_sec && now->tv_nsec == last.tv_nsec;
  last = *now;
  readings = is_same ? readings + 1 : 0;
  const long passed = readings * ns_of_a_reading;
  now->tv_nsec += passed < shortest_tick ? passed : shortest_tick - 1;
  if (now->tv_nsec >= 1'000'000'000) {
    now->tv_nsec -= 1'000'000'000;
    ++now->tv_sec;
  }
  return 0;
}

}  // namespace lockwright::native_env
