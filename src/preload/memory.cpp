// What the library has taken of memory for locks.
#include <cstdint>

#include "lockwright/env/native.hpp"

namespace native_env = lockwright::native_env;

extern "C" {

/// Bytes that lie outside the program's own objects: queue nodes, and the state of locks that does
/// not fit into a mutex, the most that were in use at the same time; and what all locks of the
/// process share. Whether a byte of them has been written to or not.
__attribute__((visibility("default"))) std::uint64_t lockwright_memory_taken() noexcept {
  return native_env::fresh_nodes.bytes() + native_env::last_nodes.bytes() +
         native_env::blocks.bytes() + native_env::common_bytes.load(std::memory_order_relaxed);
}

}  // extern "C"
