// What a lock of the library's algorithm needs at its first use.
#pragma once

namespace lockwright::preload {

/// Reads the NUMA nodes before the program starts, if the lock is the default one, which then calls
/// only futex and sched_yield: a sandbox that the program begins without the C library is not noticed,
/// and might forbid reading files.
void find_nodes();

/// Takes some locks that no other thread can see, so that what a lock does at its first use is done,
/// and maps memory outside for at least as many. Called before a sandbox begins.
void use_locks();

}  // namespace lockwright::preload
