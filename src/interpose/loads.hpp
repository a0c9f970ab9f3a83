// The table of the processes that loaded a library, in a file that
// python/lockwright/preload/loads.py reads. It distinguishes a process that executes another
// program and cannot load the library again, because of another root or missing permission, from
// one that locks no mutex.
#pragma once

#include <sys/prctl.h>

#include <atomic>
#include <cstdint>

#include "interpose/layout.hpp"
#include "lockwright/env/native/syscall.hpp"

namespace lockwright::interpose {

struct load {
  std::atomic<std::uint32_t> pid;
  std::uint32_t unused;
  char program[16];  ///< the kernel's name of the process
  std::uint64_t unused_2;
};
static_assert(sizeof(load) == 32);
LOCKWRIGHT_LAYOUT(load, pid, unused, program, unused_2);

/// The first loads of a run; later ones are not recorded.
struct loads {
  static constexpr unsigned numbers = 16;
  load of[numbers];

  /// Records that this process has loaded the library.
  void record_process() {
    using native_env::system_call;
    const auto self = static_cast<std::uint32_t>(system_call(SYS_getpid));
    for (load& each : of) {
      std::uint32_t present = 0;
      if (each.pid.compare_exchange_strong(present, self) || present == self) {
        system_call(SYS_prctl, PR_GET_NAME, native_env::argument(each.program));
        return;
      }
    }
  }
};
LOCKWRIGHT_LAYOUT(loads, of);

}  // namespace lockwright::interpose
