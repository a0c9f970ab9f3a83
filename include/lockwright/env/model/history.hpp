// The steps of one execution, recorded when Relacy repeats a failing one. src/check/trace.cpp
// prints them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lockwright/env/model/location.hpp"
#include "lockwright/env/model/relacy.hpp"

namespace lockwright::model_env {

struct event {
  enum kind : std::uint8_t {
    load,      ///< `after` was read, of an object whose latest value is `before`
    store,     ///< `before` was replaced by `after`
    change,    ///< the same, as one step
    mismatch,  ///< a compare-and-swap found `before`
    fence,
    sleep,      ///< while the object holds `after`
    awake,      ///< the sleep is over
    wake,       ///< of up to `after` sleepers
    take_node,  ///< `object` is the node
    give_node,
    read,  ///< of a plain variable
    write,
    call,      ///< of a member of the lock at `object`, which takes `after` bytes
    returned,  ///< from there
    replaced,  ///< the thread has ended, and another began
    ended,     ///< the thread has ended
  };

  kind what = load;
  bool has_order = false;
  bool pointer = false;  ///< the values are addresses
  std::memory_order order = std::memory_order_relaxed;
  std::uint32_t thread = 0;
  const char* name = "";   ///< of the operation or the lock's member, or a remark
  const char* owner = "";  ///< the name of the lock
  const void* object = nullptr;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  location at{};
};

template <class T>
[[nodiscard]] std::uint64_t bits_of(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uintptr_t>(value);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

struct history {
  static constexpr std::size_t most = 1 << 13;

  std::size_t count = 0;
  event events[most];
  const char* problem = nullptr;  ///< the fault that the model found; null if Relacy did
  std::uint32_t thread = 0;       ///< the thread whose last step failed
  const char* file = "";
  std::uint32_t line = 0;

  void begin() {
    count = 0;
    problem = nullptr;
  }

  void add(const event& e) {
    if (count < most) {
      events[count] = e;
      events[count++].thread = rl::thread_index();
    }
  }
};

inline history history_now;

/// True if steps are recorded, which would slow down a search.
[[nodiscard]] inline bool is_recording() { return rl::ctx().collecting_history(); }

/// Records a step that has no value but `after`.
inline void record(event::kind what, const char* name, const void* object, std::uint64_t after,
                   const location& at = {}) {
  if (is_recording()) {
    history_now.add({.what = what, .name = name, .object = object, .after = after, .at = at});
  }
}

}  // namespace lockwright::model_env
