// What happens in which phase. All of it follows from the seed, the number of processors, and what
// the lock promises.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "settings.hpp"

namespace torture {

struct phase {
  std::uint64_t number = 0;
  std::string kind;
  // What every choice inside follows from.
  std::uint64_t seed = 0;
  std::uint64_t threads = 0;
  std::uint64_t mutexes = 1;
  int type = 0;  // of mutex
  // What a section and the time between two take, typically.
  std::uint64_t section_ns = 0;
  std::uint64_t gap_ns = 0;
  // Nobody pauses between two sections. A lock without an order may then leave somebody out.
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
