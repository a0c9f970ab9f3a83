// Call stacks, by the unwinding tables that every program and library has.
#pragma once

#include <cstdint>

#include "probe/profile_buffer.hpp"

namespace lockwright::probe {

/// Walks the calling thread's stack from the frame that returns to `caller` outwards. Returns its
/// number in the buffer, plus one; 0 if there is none or no room for it.
std::uint32_t walk(profile_buffer& target, std::uint32_t record, std::uint64_t caller);

/// The same of the stack of an initialisation. init_site: its number plus one.
std::uint32_t walk_init_stack(init_table& inits, std::uint32_t init_site, std::uint64_t caller);

}  // namespace lockwright::probe
