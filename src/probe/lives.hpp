// The account of threads that have ended: how long each lived, ran, was ready to run, and waited.
#pragma once

#include <cstdint>

#include "probe/profile_buffer.hpp"

namespace lockwright::probe {

/// Records the beginning of the calling thread, if it was noted before its process had a buffer.
void enter_life(profile_buffer& target);

/// Adds the calling thread, which ends, to the account of its role.
void end_life();

/// Returns the ns for which the calling thread was ready to run without a processor; 0 if unknown.
std::uint64_t ready_ns();

/// Returns the ns for which it ran; 0 if unknown.
std::uint64_t ran_ns();

/// Called in the child of a fork: the account of its only thread is its parent's.
void leave_life();

}  // namespace lockwright::probe
