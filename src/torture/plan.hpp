// The parameters of each phase, derived from the seed, the number of processors and the traits of
// the lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "settings.hpp"

namespace torture {

struct phase {
  std::uint64_t number = 0;
  std::string kind;
  // Seeds all random choices of the phase.
  std::uint64_t seed = 0;
  std::uint64_t threads = 0;
  std::uint64_t mutexes = 1;
  int type = 0;  // of mutex
  // Typical durations of a section and of the gap between two.
  std::uint64_t section_ns = 0;
  std::uint64_t gap_ns = 0;
  // No gaps between sections. An unordered lock may then starve a thread.
  bool greedy = false;
  bool stutter = false;
  bool shuffle = false;
  bool stops = false;
  bool signals = false;

  [[nodiscard]] std::string description() const;
};

class plan {
 public:
  explicit plan(const settings& given);
  [[nodiscard]] phase at(std::uint64_t number) const;
  // As many phases as it takes to have each kind once.
  [[nodiscard]] std::uint64_t kinds() const { return kinds_.size(); }

 private:
  const settings& settings_;
  std::vector<std::string> kinds_;
};

const char* type_name(int type);

// Whether it is a kind of phase or of disturbance.
bool is_part(const std::string& word);

}  // namespace torture
