// Locks as their authors' programs have them, for the claims of papers that measured those. They have
// no row in the registry, and only their full name selects them.
#pragma once

#include <vector>

#include "lock_entry.hpp"

namespace lockwright::simulate {

std::vector<const lock_entry*> published_locks();

}  // namespace lockwright::simulate
