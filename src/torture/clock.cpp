#include "clock.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace torture {

void sleep_ns(std::uint64_t ns) {
  timespec left = at(ns);
  // Not nanosleep(), which is a cancellation point: in one the C library (2.36 does) ends a thread
  // that has disabled cancellation, if it was cancelled before that and the signal comes late.
  while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &left, &left) != 0 && errno == EINTR) {
  }
}

void busy(std::uint64_t ns) {
  const std::uint64_t start = now();
  while (now() - start < ns) {
  }
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word, int how_many) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, how_many, nullptr, nullptr, 0);
}

}  // namespace torture
