// What the simulator does for the code that runs on its machine. Defined in src/simulate, which
// exports these functions, so that a lock can also be loaded into it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockwright::simulated_env {

/// Whether a simulated thread calls; otherwise it is the simulation being set up, where memory is
/// read and written at no cost.
bool is_inside();

// Accesses to memory. Each takes as long as the state of the line says, and has its effect at the
// simulated moment at which it returns. Values have up to 8 bytes, in the low end of the bits.

/// Loads from the caller's store buffer, from its cache, or after a transfer of the line.
std::uint64_t load(const void* at, std::uint32_t bytes);

/// Puts a store into the caller's store buffer. Others see it once the line has come.
void store(void* at, std::uint64_t bits, std::uint32_t bytes);

/// Waits until the caller's store buffer is empty and its core alone has the line: a
/// read-modify-write that the caller makes before its next call here is one step.
void begin_change(void* at);

/// The object at this place is gone: a store to it that is still in the buffer writes nothing.
void forget_stores(const void* at);

// Time.

void relax();
void delay(std::uint32_t turns);
void yield();
std::uint64_t now_ns();
/// Stays on the processor for so long.
void work_ps(std::uint64_t picoseconds);

// The kernel.

/// Sleeps while the 32 bits at `at` are `expected`, up to `deadline_ns` of now_ns().
inline constexpr std::uint64_t no_deadline = ~std::uint64_t{0};
void futex_wait(const void* at, std::uint32_t expected, std::uint64_t deadline_ns);
void futex_wake(const void* at, std::uint32_t count);
void membarrier();
std::uint32_t runnable();

// The machine and the caller's place on it.

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
/// Above 0, and never the same twice. It costs nothing.
std::uint64_t unique_number();
bool hint(const void* about);
void set_hint(const void* about, bool what);
/// 64 zeroed bytes that belong to the calling thread for its lifetime.
void* own_piece();
/// 64 bytes with what their last user left there.
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
