// A simulated thread: its fiber, where it is, its store buffer and what it polls.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstdint>
#include <deque>
#include <vector>

#include "machine.hpp"

namespace lockwright::simulate {

struct pending_store {
  void* at;
  std::uint64_t bits;
  std::uint32_t bytes;  ///< 0 if the object is gone by now
};

/// The loads between two calls of relax(), and what is known of the loop that makes them.
struct polling {
  static constexpr std::uint32_t most = 4;
  struct load {
    const void* at;
    std::uint64_t bits;
    bool operator==(const load&) const = default;
  };
  struct iteration {
    load loads[most];
    std::uint32_t count = 0;
    picoseconds own = 0;       ///< that accesses to the thread's own memory have taken
    bool other_steps = false;  ///< a miss, a store or anything else, or more loads than `most`
  };

  iteration now;
  iteration last;
  std::uint64_t alike = 0;  ///< iterations so far that were the same loads with the same values

  // While it is skipped.
  picoseconds began = 0;
  picoseconds length = 0;  ///< of an iteration
  std::uint64_t left = 0;  ///< iterations that the code has still to run through at no cost
  std::uint32_t next = 0;  ///< load of the iteration that comes next

  void forget() {
    now = {};
    last.other_steps = true;
    alike = 0;
    left = 0;
  }
};

/// What a fair scheduler knows of a thread, in nanoseconds of virtual time, which passes on a processor
/// at the speed of each of its threads.
struct share {
  const void* left = nullptr;  ///< the queue that it left asleep, which its runtime is relative to
  std::int64_t runtime = 0;    ///< received so far
  std::int64_t deadline = 0;   ///< when it is to have received another slice
  std::int64_t lag = 0;  ///< what it lacked when it left the queue; negative: what it had too much
  std::int64_t slice_left = 0;  ///< of the slice that it takes along to another queue; 0: none
};

enum class thread_state : std::uint8_t {
  ready,      ///< in a run queue, or on its way there
  computing,  ///< on a processor until `resumes_at`
  waiting,    ///< on a processor, for a line or its store buffer
  polling,    ///< on a processor, and skips polls of lines that do not change
  sleeping,   ///< in a futex
  ended,
};

struct thread {
  explicit thread(std::uint32_t its_number, std::uint64_t seed)
      : number{its_number}, random{seed} {}

  std::uint32_t number;
  boost::context::fiber fiber;
  thread_state state = thread_state::ready;

  std::uint32_t processor = 0;
  picoseconds ahead = 0;            ///< time that it has used and that has not passed yet
  picoseconds resumes_at = 0;       ///< when computing
  picoseconds work_left = 0;        ///< of what it was at when it lost its processor
  std::uint64_t resume_number = 0;  ///< only the event with this number resumes it
  bool gives_way = false;           ///< its slice ended while it could not be stopped
  bool bound = false;               ///< to its processor: the scheduler does not migrate it
  picoseconds ran_until = 0;        ///< when it last lost its processor
  share fairness;                   ///< of its processor's time

  std::deque<pending_store> stores;
  bool store_in_flight = false;
  bool awaits_stores = false;

  polling poll;
  std::vector<std::uint32_t> polled_lines;

  const void* sleeps_on = nullptr;
  std::uint64_t sleeps = 0;

  random_source random;
  std::uint64_t hints = 0;
  std::uint64_t numbers_drawn = 0;
  void* own_piece = nullptr;
  std::vector<void*> nodes;
};

}  // namespace lockwright::simulate
