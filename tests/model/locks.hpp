// The locks to check, by name: those of the registry, and the broken ones.
#pragma once

#include <vector>

#include "cases.hpp"

namespace lockwright::check {

struct subject {
  const char* name;
  std::vector<test_case> cases;
  const char* own_files = "";  ///< mutants are made of files below such a directory only
};

/// Those of the registry, the reader-writer lock, condition variables and semaphores.
std::vector<subject> registered_locks();
subject reader_writer_lock();
std::vector<subject> conditions();
std::vector<subject> broken_locks();
std::vector<subject> broken_conditions();

}  // namespace lockwright::check
