// Detects a race detector in this process, which must be notified of each acquisition.
// Under such a tool all mutexes take the slow path, which notifies it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "lockwright/env/native/valgrind.hpp"
#include "preload/kind.hpp"

namespace lockwright::preload {

namespace valgrind = native_env::valgrind;

/// The kind word of a normal mutex that takes the fast path: `generation`, once it is known that no
/// tool watches and at which offset the caller's number lies, see thread_number.hpp. Until then,
/// and under a tool, it is never_set, so no mutex does.
inline constinit std::atomic<kind_word> fast_path_kind{never_set};
/// The same for the lock function of an algorithm that cannot be measured from the end of its fast
/// path, see TwoStepLock: never_set while waits are measured.
inline constinit std::atomic<kind_word> one_step_fast_path_kind{never_set};

/// The generation of the reader-writer locks that take the fast path, where a kind word has it
/// after a shift by rwlock_mode_shift; or one of the two constants, which are no generation.
inline constinit std::atomic<std::uint32_t> fast_path_generation{std::uint32_t{1} << 31};
/// All are known to be left to the C library, which the entry points then call. While no mutex takes
/// the fast path, the initial value.
inline constexpr std::uint32_t all_are_kept = ~std::uint32_t{0};

enum class watcher : std::uint8_t { unknown, none, tool };
inline constinit std::atomic<watcher> watched_by{watcher::unknown};

/// Looks for a race detector, once. Mutexes are used before this library's constructor runs.
bool detect_race_detector();

inline bool is_watched() {
  const watcher known = watched_by.load(std::memory_order_relaxed);
  return known == watcher::unknown ? detect_race_detector() : known == watcher::tool;
}

/// DRD's library in the process uses a mutex of its own, which it expects to be the C library's. It
/// gets a process-shared one, which is left to the C library.
bool is_called_by_tool(const void* caller);
int init_for_tool(pthread_mutex_t* mutex);

/// Sets the kinds and the generation anew; called in the child of a fork, whose generation has changed.
void rearm_fast_path();

}  // namespace lockwright::preload
