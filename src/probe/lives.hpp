// The account of threads that have ended: how long each lived, ran, was ready to run, and waited.
#pragma once

namespace lockwright::probe {

/// Adds the calling thread, which ends, to the account of its role.
void end_life();

/// Called in the child of a fork: the account of its only thread is its parent's.
void leave_life();

}  // namespace lockwright::probe
