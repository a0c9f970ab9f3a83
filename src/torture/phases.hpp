// The kinds of phases. Each sets up its threads on the stage.
#pragma once

namespace torture {

class stage;

// Writers, trylockers, lockers with deadlines, and those that hold several mutexes at once.
void crowd(stage& on);
// Threads that come, lock a few times and go.
void births(stage& on);
// Tokens that are passed on by condition variables.
void rings(stage& on);
// A broadcast to many, again and again, the condition variable ended right after it.
void herd(stage& on);
// One place that producers fill and consumers empty, some of whom are cancelled.
void market(stage& on);
// Children of a process whose mutexes are contended.
void forks(stage& on);
// Threads that provably came one after the other have to be let in so.
void order(stage& on);
// The last user of a mutex destroys it at once.
void reuse(stage& on);
// The same work again and again, which must not take more and more memory.
void memory(stage& on);

// For crashes: whether the address is in a mutex that its last user has destroyed.
bool is_retired(const void* address);

// A thread that locks, works and unlocks until it is over.
void write_until_over(stage& on);

}  // namespace torture
