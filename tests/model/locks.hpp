// The locks to check, by name: those of the registry, and the broken ones.
#pragma once

#include <vector>

#include "cases.hpp"

namespace lockwright::check {

struct subject {
  const char* name;
  std::vector<test_case> cases;
  const char* mutated = "";  ///< part of the paths of the files that mutants are made of
};

/// The mutexes and the reader-writer locks of the registries, condition variables and semaphores.
std::vector<subject> registered_locks();
std::vector<subject> conditions();
std::vector<subject> broken_locks();
std::vector<subject> broken_conditions();

}  // namespace lockwright::check
