// Programs that restrict their own system calls: prctl() and syscall() of the C library are replaced,
// so that the library gets ready before the kernel gets a filter. A program that makes these calls
// without the C library is not noticed.
#pragma once

#include <cstdint>

namespace lockwright::interpose {

/// Defined by each library: makes the calls that it would otherwise make later. Called before each
/// filter; none after the first may find anything left to do.
void prepare_for_filter();

/// Defined by each library: makes the program's call of `syscall` for a futex. caller: of `syscall`.
long follow_futex(std::uint64_t caller, const long (&arguments)[6]);

/// Defined by each library: reads the processor's clock no more, which a thread is about to lose.
void leave_counter();

}  // namespace lockwright::interpose
