// Whether a race detector runs in this process, which must be notified of each
// lock. Mutexes have a fast path and a slow path through this library; under such
// a tool all go the slow path, where there is room to ask.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "lockwright/env/native/valgrind.hpp"
#include "preload/kind.hpp"

namespace lockwright::preload {

namespace valgrind = native_env::valgrind;

/// What the kind word of a normal mutex is that goes the fast path: `generation`,
/// once it is known that no thread watches and where the caller's number lies, see
/// thread_number.hpp. The detour is in no mutex's word, so until then, and with a
/// tool, no mutex does.
inline constinit std::atomic<kind_word> fast_path_kind{detour};

enum class watcher : std::uint8_t { unknown, nobody, tool };
inline constinit std::atomic<watcher> watched_by{watcher::unknown};

/// Asks, once. Mutexes are used before this library's constructor runs.
bool detect_race_detector();

inline bool is_watched() {
  const watcher known = watched_by.load(std::memory_order_relaxed);
  return known == watcher::unknown ? detect_race_detector() : known == watcher::tool;
}

/// DRD has a part in the process that uses a mutex of its own and expects to know
/// it, as it knows those of the C library only. Here it gets one, which is marked
/// by being process-shared.
bool is_of_tool(const void* caller);
int init_for_tool(pthread_mutex_t* mutex);

/// For the child of a fork, whose generation has changed.
void rearm_fast_path();

}  // namespace lockwright::preload
