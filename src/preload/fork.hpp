// The repair of objects after a fork: the child has one thread, but its mutexes and condition
// variables record the parent's threads. Each object is stamped with the generation that it was
// last repaired for, and the first thread of another generation that uses it repairs it.
#pragma once

#include <cstdint>

#include "lockwright/parts/three_state.hpp"
#include "preload/counting.hpp"
#include "preload/generation.hpp"

namespace lockwright::preload {

/// The number of the thread that forked, see thread_number.hpp: in the parent, and in this
/// process. 0 in a process that no thread forked.
inline constinit std::uint32_t number_before_fork = 0;
inline constinit std::uint32_t number_after_fork = 0;

/// Held while an object is repaired, or a reader-writer lock gets its algorithm by a plan.
inline constinit three_state<environment> adopting{};
/// The same for semaphores, with all signals blocked, since a handler may post.
inline constinit three_state<environment> adopting_semaphore{};

/// Keeps the generation up to date. To be called before any other thread's handlers
/// for fork are registered: in the child they run in that order, and they lock.
void follow_forks();

}  // namespace lockwright::preload
