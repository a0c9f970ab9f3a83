// The algorithm that this library was built with.
#pragma once

#include "counting.hpp"
#include "lockwright/registry.hpp"

#define LOCKWRIGHT_PASTE_(identifier) identifier##_lock
#define LOCKWRIGHT_PASTE(identifier) LOCKWRIGHT_PASTE_(identifier)

namespace lockwright::preload {

using chosen_lock = LOCKWRIGHT_PASTE(LOCKWRIGHT_LOCK_ID)<environment>;

}  // namespace lockwright::preload
