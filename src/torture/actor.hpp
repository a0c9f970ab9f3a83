// A thread of a phase, and what it says about itself while it runs.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>

#include "dice.hpp"

namespace torture {

class guarded;
class stage;

// Keeps what different threads write on different lines, adjacent ones fetched together included.
inline constexpr std::size_t apart = 128;

enum class act : std::uint8_t {
  absent,    // no thread plays it now
  between,   // neither in a section nor on the way to one
  halted,    // all pause together
  locks,     // in lock
  tries,     // in trylock
  locks_by,  // in a lock call with a deadline
  waits,     // in a wait on a condition variable, or coming back from it
  waits_by,  // the same with a deadline
  inside,
  unlocks,
  directs,  // has other threads or processes do something and waits for them
};

struct alignas(apart) actor {
  actor(stage& on, std::uint32_t id, const char* part, std::uint64_t seed)
      : at{on}, number{id}, role{part}, draw{seed} {}

  stage& at;
  // From 1, so that 0 is nobody.
  const std::uint32_t number;
  const char* const role;
  dice draw;
  std::function<void(actor&)> play;
  pthread_t thread{};

  std::atomic<int> tid{0};
  std::atomic<act> now{act::absent};
  std::atomic<const guarded*> with{nullptr};
  // The stage's tick at which `now` began.
  std::atomic<std::uint64_t> since{0};
  std::atomic<std::uint64_t> sections{0};

  void does(act what, const guarded* object = nullptr);
};

}  // namespace torture
