// One deliberate fault, planted at one line of a lock at run time, which the checker has to find.
// Every operation of the model takes the source line of its call, so no lock has to be edited or
// recompiled.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "lockwright/env/model/location.hpp"

namespace lockwright::model_env {

enum class operation : std::uint8_t { load, store, rmw, cas, wake, fence, assignment };

enum class change : std::uint8_t {
  none,
  order,          ///< the operation's memory order is replaced by a weaker one
  failure_order,  ///< the same, for a compare-and-swap that fails
  drop,           ///< a store, an assignment, a wake or a fence does not happen
  split,          ///< a read-modify-write becomes a load and a later store
};

/// An operation of a lock: the location of the call, and its memory orders.
struct site {
  const char* file = "";
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  operation kind = operation::load;
  std::memory_order order = std::memory_order_relaxed;
  std::memory_order failure_order = std::memory_order_relaxed;

  [[nodiscard]] bool is(const location& at) const {
    return line == at.line() && column == at.column() && std::strcmp(file, at.file_name()) == 0;
  }
};

struct mutation {
  change what = change::none;
  site where;
  std::memory_order order = std::memory_order_relaxed;  ///< the weaker order

  [[nodiscard]] bool hits(change wanted, const location& at) const {
    return what == wanted && where.is(at);
  }
};

/// The fault of this run; none unless a test plants one.
inline mutation planted;

/// The operations that were reached, each once, while recording.
struct site_list {
  static constexpr std::uint32_t most = 256;

  bool recording = false;
  std::uint32_t count = 0;
  site sites[most];

  void note(operation kind, const location& at, std::memory_order order,
            std::memory_order failure_order) {
    if (!recording) {
      return;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      if (sites[i].is(at)) {
        return;
      }
    }
    if (count < most) {
      sites[count++] = {at.file_name(), at.line(), at.column(), kind, order, failure_order};
    }
  }
};

inline site_list reached;

/// Returns the memory order of the operation at `at`, which a fault may have weakened.
[[nodiscard]] inline std::memory_order order_at(operation kind, const location& at,
                                                std::memory_order order) {
  reached.note(kind, at, order, order);
  return planted.hits(change::order, at) ? planted.order : order;
}

[[nodiscard]] inline bool drops(const location& at) { return planted.hits(change::drop, at); }

[[nodiscard]] inline bool splits(const location& at) { return planted.hits(change::split, at); }

}  // namespace lockwright::model_env
