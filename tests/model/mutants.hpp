// Faults made from a lock itself: one memory order weakened, one store or wake
// dropped, one read-modify-write torn in two.
#pragma once

#include <string>
#include <vector>

#include "locks.hpp"

namespace lockwright::check {

/// Every mutant of the operations that the cases of `s` reach.
std::vector<model_env::mutation> mutants_of(const subject& s);

/// For instance "include/lockwright/lock/mcs.hpp:76 read-modify-write acq_rel -> acquire".
std::string describe(const model_env::mutation& m);

}  // namespace lockwright::check
