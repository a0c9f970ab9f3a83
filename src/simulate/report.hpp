// What is printed of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rw_site.hpp"
#include "simulation.hpp"
#include "site.hpp"

namespace lockwright::simulate {

struct outcome {
  std::string lock;
  std::string workload;
  std::uint64_t seed;
  picoseconds length;
  std::uint64_t window;
  std::vector<std::uint64_t> operations;  ///< of each thread of --threads
};

/// One JSON object on one line, of whole numbers and words only: the same bytes from any compiler.
void print(const outcome& run, const simulation& in, record& recorded);
/// The same of a workload of reader-writer locks.
void print(const outcome& run, const simulation& in, const rw_record& recorded);

}  // namespace lockwright::simulate
