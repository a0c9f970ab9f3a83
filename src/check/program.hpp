// A program of a few threads that the checker runs, and the limits of the search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lockwright/env/model/execution.hpp"

namespace lockwright::check {

/// Constructed for each execution, before its threads start.
struct program {
  program() = default;
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  virtual ~program() = default;

  virtual void thread(std::uint32_t index) = 0;
  /// After all threads have ended.
  virtual void after() {}
};

inline constexpr std::size_t program_bytes = 1 << 14;

/// Constructs a program in `room`. No `new`: Relacy replaces it.
using maker = program* (*)(void* room);

template <class P>
program* make(void* room) {
  static_assert(sizeof(P) <= program_bytes);
  return ::new (room) P;
}

struct search {
  enum kind : std::uint8_t {
    full,  ///< every interleaving
    /// every interleaving with at most `limit` switches away from a thread that could continue
    bound,
    random,  ///< `limit` executions at random
  };
  kind how = full;
  std::uint64_t limit = 0;
  double seconds = 10;  ///< gives up after this time
};

struct outcome {
  enum verdict : std::uint8_t { passed, failed, out_of_time };
  verdict result = passed;
  std::uint64_t executions = 0;
  double seconds = 0;
  std::string problem;      ///< in a few words, when failed; in a sentence with a trace
  std::string trace;        ///< the failing execution, a line for each step
  std::uint32_t steps = 0;  ///< of that
};

/// `trace` asks for the failing execution too, which costs a second run of it.
outcome run(maker make_program, std::uint32_t threads, const search& how,
            const model_env::settings& settings, bool trace);

}  // namespace lockwright::check
