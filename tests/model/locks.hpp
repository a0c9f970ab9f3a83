// The locks to check, by name: those of the registry, and the broken ones.
#pragma once

#include <vector>

#include "cases.hpp"

namespace lockwright::check {

struct subject {
  const char* name;
  std::vector<test_case> cases;
};

/// Those of the registry, and the reader-writer lock.
std::vector<subject> registered_locks();
subject reader_writer_lock();
std::vector<subject> broken_locks();

}  // namespace lockwright::check
