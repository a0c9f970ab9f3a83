// An asymmetric memory barrier: only one of its two sides is expensive.
#pragma once

#include <linux/membarrier.h>

#include <atomic>
#include <cstdint>

#include "lockwright/env/native/sandbox.hpp"

namespace lockwright::native_env {

/// The implementation of the pair of barriers.
enum class barriers : std::uint8_t {
  unknown,    ///< no thread has requested one yet
  settling,   ///< about to be plain: light ones are fences, heavy ones wait for that
  expedited,  ///< heavy: membarrier(2), which runs a barrier on every CPU that
              ///< runs a thread of this process; light: the compiler's order
  plain,      ///< the kernel has no such call, or may forbid it: both are
              ///< fences, so that a light one costs about what an atomic update does
};

inline constinit std::atomic<barriers> barriers_now{barriers::unknown};

/// A sequentially consistent fence. In assembly, because compilers reject the standard library's
/// fence in ThreadSanitizer builds.
inline void fence() {
#if defined(__x86_64__)
  asm volatile("lock orq $0, (%%rsp)" ::: "memory", "cc");
#elif defined(__aarch64__)
  asm volatile("dmb ish" ::: "memory");
#endif
}

inline bool membarrier(int command) { return system_call(SYS_membarrier, command) == 0; }

/// Registers with the kernel, once per process.
[[gnu::noinline]] inline void choose_barriers() {
  const bool called = unless_filtered([] {
    const bool able = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
                      membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    barriers_now.store(able ? barriers::expedited : barriers::plain, std::memory_order_relaxed);
  });
  barriers unknown = barriers::unknown;
  if (!called) {
    barriers_now.compare_exchange_strong(unknown, barriers::plain, std::memory_order_relaxed);
  }
}

/// Called after expect_filter(): from now on no barrier makes a call. The last expedited one makes
/// a fence of each light one before it, and those after it see that they have to be fences.
inline void settle_barriers() {
  if (barriers_now.exchange(barriers::settling) == barriers::expedited) {
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  }
  barriers_now.store(barriers::plain, std::memory_order_release);
}

[[gnu::noinline]] inline void light_barrier_slowly() {
  if (barriers_now.load(std::memory_order_relaxed) == barriers::unknown) {
    choose_barriers();
  }
  fence();
}

inline void light_barrier() {
  // Correct whatever others read here at the same time: a fence pairs with either heavy
  // barrier, and `expedited` is valid from its store on.
  if (barriers_now.load(std::memory_order_relaxed) == barriers::expedited) [[likely]] {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    light_barrier_slowly();
  }
}

inline void heavy_barrier() {
  // Acquire pairs with the release in settle_barriers(). If the barriers turn out to be plain, all
  // light ones so far were fences.
  while (barriers_now.load(std::memory_order_acquire) != barriers::plain) {
    bool done = false;
    if (unless_filtered([&done] { done = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }) && done) {
      return;
    }
    if (is_filtered() && barriers_now.load(std::memory_order_relaxed) != barriers::unknown) {
      nap();  // Another thread settles them.
    } else {
      choose_barriers();  // Not registered yet, perhaps since a fork.
    }
  }
  fence();
}

}  // namespace lockwright::native_env
