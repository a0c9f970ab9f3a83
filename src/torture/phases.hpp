// The kinds of phases. Each function adds its threads to the phase.
#pragma once

namespace torture {

class phase_run;

// Lock, trylock, lock with deadlines, and threads that hold several mutexes at once.
void crowd(phase_run& on);
// Short-lived threads that lock a few times and end.
void churn(phase_run& on);
// Tokens that are passed on by condition variables.
void rings(phase_run& on);
// Repeated broadcasts to many waiters; the condition variable is destroyed right after.
void herd(phase_run& on);
// A buffer of one item with producers and consumers, some of which are cancelled.
void producers(phase_run& on);
// Children of a process whose mutexes are contended.
void forks(phase_run& on);
// Threads that provably queued one after the other must be admitted in that order.
void order(phase_run& on);
// The last user of a mutex destroys it at once.
void reuse(phase_run& on);
// Readers and writers of a reader-writer lock.
void readers(phase_run& on);
// Repeated work, during which memory must not grow.
void memory(phase_run& on);

// For the crash handler: whether the address is in a destroyed mutex.
bool is_retired(const void* address);

// A thread that locks, works and unlocks until it is over.
void write_until_over(phase_run& on);

}  // namespace torture
