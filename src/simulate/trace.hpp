// A timeline of the measured time, as a Perfetto trace: protocol buffers of track events
// (protos/perfetto/trace/perfetto_trace.proto of Perfetto).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine.hpp"
#include "thread.hpp"

namespace lockwright::simulate {

/// Each node is a process of the timeline and each processor one of its threads, so that one sees
/// the lock move between the nodes; each simulated thread has a track of its own beside them.
class trace {
 public:
  explicit trace(const machine& on) : machine_{on} {}

  void held(const thread& holder, picoseconds called, picoseconds entered, picoseconds left);
  void write(const std::string& path, const std::string& title) const;

 private:
  struct span {
    std::uint32_t thread;
    std::uint32_t processor;
    picoseconds called;
    picoseconds entered;
    picoseconds left;
  };
  /// More than a viewer shows well.
  static constexpr std::size_t most_spans = 500'000;

  const machine& machine_;
  std::vector<span> spans_;
};

}  // namespace lockwright::simulate
