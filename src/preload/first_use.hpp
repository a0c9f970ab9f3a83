// What a lock of the library's algorithm needs at its first use.
#pragma once

namespace lockwright::preload {

/// Locks one that no other thread can see, so that the memory for some more is mapped.
void use_lock_once();

}  // namespace lockwright::preload
