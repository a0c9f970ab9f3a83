// A thread of a phase, and the state that it publishes while it runs.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>

#include "dice.hpp"

namespace torture {

class guarded;
class phase_run;

// Keeps data of different threads on different cache lines, also where the processor fetches
// adjacent lines in pairs.
inline constexpr std::size_t cache_line_pair = 128;

enum class activity : std::uint8_t {
  absent,    // no thread runs now
  between,   // outside sections and lock calls
  halted,    // paused with all others
  locks,     // in lock
  tries,     // in trylock
  locks_by,  // in a lock call with a deadline
  waits,     // in a condition wait, up to its return
  waits_by,  // the same with a deadline
  inside,
  unlocks,
  waits_for_others,  // waits for other threads or processes
};

struct alignas(cache_line_pair) worker {
  worker(phase_run& on, std::uint32_t id, const char* part, std::uint64_t seed)
      : run{on}, number{id}, role{part}, draw{seed} {}

  phase_run& run;
  // From 1; 0 means no thread.
  const std::uint32_t number;
  const char* const role;
  dice draw;
  std::function<void(worker&)> body;
  pthread_t thread{};

  std::atomic<int> tid{0};
  std::atomic<activity> now{activity::absent};
  std::atomic<const guarded*> with{nullptr};
  // The run's tick at which `now` began.
  std::atomic<std::uint64_t> since{0};
  std::atomic<std::uint64_t> sections{0};

  // Publishes what the thread does from now on.
  void does(activity what, const guarded* object = nullptr);
};

}  // namespace torture
