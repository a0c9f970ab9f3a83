// What a lock of the library's algorithm needs at its first use.
#pragma once

namespace lockwright::preload {

/// Reads the NUMA nodes for the default lock: no call reports a sandbox that begins by a system call
/// of the program's own, and a lock that makes no other call but a yield is least in danger.
void find_nodes();

/// Locks some that no other thread can see, and maps the memory for as many at least.
void use_locks();

}  // namespace lockwright::preload
