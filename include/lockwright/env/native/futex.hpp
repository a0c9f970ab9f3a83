// Sleeping and waking on a 32-bit word, private to the process.
#pragma once

#include <linux/futex.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>

#include "lockwright/env/native/syscall.hpp"

namespace lockwright::native_env {

/// The halves of a word, one of which is passed to the kernel, which compares 32 bits.
inline std::atomic<std::uint32_t>& low_half(std::atomic<std::uint64_t>& word) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  // Only the address is used. The compiler need not know that it is the same memory as the word.
  void* half = &word;
  asm("" : "+r"(half));
  return *static_cast<std::atomic<std::uint32_t>*>(half);
}

inline std::atomic<std::uint32_t>& high_half_futex(std::atomic<std::uint64_t>& word) {
  return *(&low_half(word) + 1);
}

/// The mutex that the calling thread locks, null if it locks none. The kernel ignores it in a wait
/// and shows it in /proc/PID/task/TID/syscall, where `lockwright profile --pid` reads it: the word
/// that a thread sleeps on may be anywhere.
inline constinit thread_local const void* awaited = nullptr;

/// Sets it for its lifetime.
class awaiting {
 public:
  explicit awaiting(const void* what) : before_(awaited) { awaited = what; }
  ~awaiting() { awaited = before_; }
  awaiting(const awaiting&) = delete;
  awaiting& operator=(const awaiting&) = delete;

 private:
  const void* before_;
};

/// Sleeps while `word` holds `expected`; may return early for any reason.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  system_call(SYS_futex, argument(&word), FUTEX_WAIT_PRIVATE, static_cast<long>(expected), 0,
              argument(awaited));
}

/// As futex_wait(), until `deadline` of CLOCK_MONOTONIC or CLOCK_REALTIME at the
/// latest, if there is one. Returns 0 when woken, else minus the error number.
inline long futex_sleep(std::atomic<std::uint32_t>& word, std::uint32_t expected, clockid_t clock,
                        const timespec* deadline) {
  int operation = FUTEX_WAIT_BITSET_PRIVATE;
  if (clock == CLOCK_REALTIME) {
    operation |= FUTEX_CLOCK_REALTIME;
  }
  return system_call(SYS_futex, argument(&word), operation, static_cast<long>(expected),
                     argument(deadline), argument(awaited),
                     static_cast<long>(FUTEX_BITSET_MATCH_ANY));
}

/// The same; returns false only if the deadline has passed.
inline bool futex_wait_until(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                             clockid_t clock, const timespec& deadline) {
  return futex_sleep(word, expected, clock, &deadline) != -ETIMEDOUT;
}

/// Wakes up to `count` sleepers. The word may be destroyed already: the kernel uses only its
/// address.
inline void futex_wake(std::atomic<std::uint32_t>& word, std::uint32_t count) {
  system_call(SYS_futex, argument(&word), FUTEX_WAKE_PRIVATE,
              count > INT_MAX ? INT_MAX : static_cast<long>(count));
}

}  // namespace lockwright::native_env
