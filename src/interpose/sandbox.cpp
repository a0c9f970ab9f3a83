#include "interpose/sandbox.hpp"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "lockwright/env/native/sandbox.hpp"

namespace lockwright::interpose {
namespace {

/// A call without a filter only probes whether the kernel supports filters.
[[gnu::noinline]] void follow_prctl(int option, long argument, long filter) {
  const bool is_strict = option == PR_SET_SECCOMP && argument == SECCOMP_MODE_STRICT;
  if (is_strict || option == PR_SET_NO_NEW_PRIVS ||
      (option == PR_SET_SECCOMP && argument == SECCOMP_MODE_FILTER && filter != 0)) {
    native_env::expect_filter();
    prepare_for_filter();
  }
  if (is_strict || (option == PR_SET_TSC && argument == PR_TSC_SIGSEGV)) {
    leave_counter();
  }
}

[[gnu::noinline]] void follow_seccomp(long operation, long filter) {
  if (operation == SECCOMP_SET_MODE_STRICT) {
    follow_prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0);
  } else if (operation == SECCOMP_SET_MODE_FILTER) {
    follow_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter);
  }
}

}  // namespace

}  // namespace lockwright::interpose

extern "C" {

int lockwright_prctl(int option, long a, long b, long c, long d) noexcept {
  lockwright::interpose::follow_prctl(option, a, b);
  return lockwright::interpose::real.prctl(option, a, b, c, d);
}

long lockwright_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  if (number == SYS_seccomp) [[unlikely]] {
    lockwright::interpose::follow_seccomp(a, c);
  } else if (number == SYS_prctl) [[unlikely]] {
    lockwright::interpose::follow_prctl(static_cast<int>(a), b, c);
  } else if (number == SYS_futex) [[unlikely]] {
    return lockwright::interpose::follow_futex(LOCKWRIGHT_CALLER, {a, b, c, d, e, f});
  }
  return lockwright::interpose::real.syscall(number, a, b, c, d, e, f);
}

}  // extern "C"

VERSIONED_DEFAULT(lockwright_prctl, "prctl", BASE_VERSION);
VERSIONED_DEFAULT(lockwright_syscall, "syscall", BASE_VERSION);
