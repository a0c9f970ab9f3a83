// The least time of a call of a lock's function.
#pragma once

#include <cstddef>

#include "simulation.hpp"

namespace lockwright::simulate {

/// Bytes that the processor fetches together, which locks and data are apart.
inline constexpr std::size_t cache_line_pair = 128;

/// A call by the calling thread, from its construction to the end of its scope: with its instructions
/// beside accesses to shared memory, which are not simulated, it takes at least the machine's `call`.
class lock_call {
 public:
  explicit lock_call(simulation& in)
      : simulation_{in}, ends_at_least_{in.callers_time() + in.on().all.call} {}
  lock_call(const lock_call&) = delete;
  lock_call& operator=(const lock_call&) = delete;
  ~lock_call() { simulation_.spend_until(ends_at_least_); }

 private:
  simulation& simulation_;
  picoseconds ends_at_least_;
};

}  // namespace lockwright::simulate
