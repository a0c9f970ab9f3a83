// The table of the processes that loaded a library, in a file that
// python/lockwright/preload/loads.py reads. It distinguishes a process that executes another
// program and cannot load the library again, because of another root or missing permission, from
// one that locks no mutex.
#pragma once

#include <sys/prctl.h>

#include <atomic>
#include <cstdint>

#include "interpose/layout.hpp"
#include "interpose/process_identity.hpp"
#include "lockwright/env/native/sandbox.hpp"

namespace lockwright::interpose {

struct load {
  std::atomic<std::uint64_t> taken;  ///< the hash of the process
  process_identity process;
  char program[16];  ///< the kernel's name of the process
};
static_assert(sizeof(load) == 48);
LOCKWRIGHT_LAYOUT(load, taken, process, program);

/// The first processes of a run; later ones are not recorded.
struct loads {
  static constexpr unsigned numbers = 128;
  load of[numbers];

  /// Records that this process has loaded the library; returns false if it is recorded already.
  bool record_process() {
    const process_identity self = identity_of_caller();
    const std::uint64_t number = self.hash();
    for (load& each : of) {
      std::uint64_t present = 0;
      const bool is_new = each.taken.compare_exchange_strong(present, number);
      if (is_new || present == number) {
        record_name(each);
        each.process = self;
        return is_new;
      }
    }
    return true;
  }

  /// A filter that the process was started with may forbid prctl().
  static void record_name(load& entry) {
    if (!native_env::unless_filtered([&entry] {
          native_env::system_call(SYS_prctl, PR_GET_NAME, native_env::argument(entry.program));
        })) {
      std::size_t length = 0;
      native_env::each_of_status("Name:", [&](char c) {
        if (c != '\t' && length < sizeof entry.program - 1) {
          entry.program[length++] = c;
        }
      });
    }
  }
};
LOCKWRIGHT_LAYOUT(loads, of);

}  // namespace lockwright::interpose
