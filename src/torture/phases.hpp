// The kinds of phases. Each function adds its threads to the phase.
#pragma once

namespace torture {

class stage;

// Lock, trylock, lock with deadlines, and threads that hold several mutexes at once.
void crowd(stage& on);
// Short-lived threads that lock a few times and end.
void births(stage& on);
// Tokens that are passed on by condition variables.
void rings(stage& on);
// Repeated broadcasts to many waiters; the condition variable is destroyed right after.
void herd(stage& on);
// A buffer of one item with producers and consumers, some of which are cancelled.
void market(stage& on);
// Children of a process whose mutexes are contended.
void forks(stage& on);
// Threads that provably queued one after the other must be admitted in that order.
void order(stage& on);
// The last user of a mutex destroys it at once.
void reuse(stage& on);
// Repeated work, during which memory must not grow.
void memory(stage& on);

// For the crash handler: whether the address is in a destroyed mutex.
bool is_retired(const void* address);

// A thread that locks, works and unlocks until it is over.
void write_until_over(stage& on);

}  // namespace torture
