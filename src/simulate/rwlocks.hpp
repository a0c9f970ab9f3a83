// The reader-writer locks of this program.
#pragma once

#include <vector>

#include "rwlock_entry.hpp"

namespace lockwright::simulate {

/// Those of rwlocks.def, and the model of the C library's as `pthread`.
const std::vector<const rwlock_entry*>& rwlocks();

}  // namespace lockwright::simulate
