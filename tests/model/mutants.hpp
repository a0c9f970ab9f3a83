// Faults made from a lock itself: one memory order weakened, one store or wake dropped, one
// read-modify-write split in two.
#pragma once

#include <string>
#include <vector>

#include "locks.hpp"

namespace lockwright::check {

struct mutant {
  model_env::mutation what;
  std::vector<const test_case*> reached_by;  ///< the cases that may find it
};

/// Returns every mutant of the operations that the cases of `s` reach.
std::vector<mutant> mutants_of(const subject& s);

/// Returns the source line, such as "include/lockwright/lock/mcs.hpp:76".
std::string location_of(const model_env::mutation& m);
/// Returns the operation, such as "read-modify-write".
std::string operation_of(const model_env::mutation& m);
/// Returns the change, such as "acq_rel -> acquire".
std::string change_of(const model_env::mutation& m);

}  // namespace lockwright::check
