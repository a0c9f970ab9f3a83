// Call stacks, walked with the unwinding tables of programs and libraries.
#pragma once

#include <cstdint>

#include "probe/profile_buffer.hpp"

namespace lockwright::probe {

/// Walks the calling thread's stack from the frame that returns to `caller` outwards. Returns its
/// number in the buffer, plus one; 0 if it is empty or there is no room.
std::uint32_t walk(profile_buffer& target, std::uint32_t record, std::uint64_t caller);

/// Walks the stack of an initialisation likewise. init_site: its number plus one.
std::uint32_t walk_init_stack(init_table& inits, std::uint32_t init_site, std::uint64_t caller);

}  // namespace lockwright::probe
