// The functions of the simulator for the code that runs on its machine. src/simulate defines and
// exports them, so that a lock can also be loaded into it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockwright::simulated_env {

/// True if a simulated thread calls; otherwise the simulation is being set up, where accesses to
/// memory have no cost.
bool is_inside();

// Accesses to memory. The state of the line determines the duration of each, and it takes effect at
// the simulated moment at which it returns. Values have up to 8 bytes, in the low end of the bits.

/// Loads from the caller's store buffer, from its cache, or after a transfer of the line.
std::uint64_t load(const void* at, std::uint32_t bytes);

/// Puts a store into the caller's store buffer. It takes effect once the line has arrived.
void store(void* at, std::uint64_t bits, std::uint32_t bytes);

/// Waits until the caller's store buffer is empty and its core alone has the line: a
/// read-modify-write that the caller makes before its next call here is one step.
void begin_change(void* at);

/// Called when the object there is destroyed: a store to it that is still in the buffer is dropped.
void forget_stores(const void* at);

// Time.

void relax();
void delay(std::uint32_t turns);
/// Waits until the caller's store buffer is empty.
void fence();
void yield();
std::uint64_t now_ns();
/// Runs on the processor for that time.
void work_ps(std::uint64_t picoseconds);

// The kernel.

/// Sleeps while the 32 bits at `at` are `expected`, up to `deadline_ns` of now_ns().
inline constexpr std::uint64_t no_deadline = ~std::uint64_t{0};
void futex_wait(const void* at, std::uint32_t expected, std::uint64_t deadline_ns);
void futex_wake(const void* at, std::uint32_t count);
void membarrier();
std::uint32_t runnable();

// The machine and the caller's position on it.

inline constexpr std::uint32_t group_levels = 3;
std::uint32_t processor();
std::uint32_t processors();
std::uint32_t node();
std::uint32_t nodes();
std::uint32_t groups(std::uint32_t level);
std::uint32_t group();
std::uint32_t group_above(std::uint32_t level, std::uint32_t number);

// The calling thread.

std::uint32_t self();
std::uint32_t random_below(std::uint32_t limit);
/// A number above 0 that no other call returns. It has no cost.
std::uint64_t unique_number();
bool hint(const void* about);
void set_hint(const void* about, bool what);
/// 64 zeroed bytes that belong to the calling thread for its lifetime.
void* own_piece();
/// 64 bytes with the content that their last user left.
void* take_node();
void give_node(void* node);
inline constexpr std::size_t node_bytes = 64;

// Memory that all share, at the same addresses in every run.

void* reserve(std::size_t bytes, const void* owner);
bool is_reserved_for(const void* block, const void* owner);
void unreserve(void* block, const void* owner);
std::size_t reserved_size(std::size_t bytes);
/// The one block of that key, zeroed when it is made.
void* common(const void* key, std::size_t bytes);

}  // namespace lockwright::simulated_env
