// What is counted in a simulation.
#pragma once

#include <array>
#include <cstdint>

#include "machine.hpp"

namespace lockwright::simulate {

struct counts {
  std::array<std::uint64_t, distances> transfers{};  ///< by the distance to where the line was
  std::uint64_t from_memory = 0;
  std::uint64_t invalidations = 0;
  std::array<std::uint64_t, distances> handovers{};  ///< by the distance between the two holders
  std::uint64_t same_thread = 0;                     ///< acquisitions of the last holder
  std::uint64_t acquisitions = 0;
  std::uint64_t contended = 0;
  std::uint64_t sleeps = 0;
  std::uint64_t wakes = 0;
  std::uint64_t switches = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t migrations = 0;
  std::uint64_t data_misses = 0;
  std::uint64_t translation_misses = 0;

  std::uint64_t handed_over = 0;  ///< acquisitions of threads that waited at the release before
  picoseconds handover_time = 0;  ///< from that release to the return of the waiter, summed

  // Picoseconds of hardware threads.
  std::uint64_t working = 0;  ///< in sections and gaps of work
  std::uint64_t running = 0;
  std::uint64_t pausing = 0;
  std::uint64_t idle = 0;
  std::uint64_t deep = 0;  ///< in a deep idle state
};

}  // namespace lockwright::simulate
