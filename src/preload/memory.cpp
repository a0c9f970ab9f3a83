// The memory that the library has allocated for locks.
#include <cstdint>

#include "lockwright/env/native.hpp"

namespace native_env = lockwright::native_env;

extern "C" {

/// Returns the bytes allocated outside the program's own objects, written to or not: for queue
/// nodes and lock state that does not fit into a mutex, the most in use at the same time; and for
/// the data that all locks of the process share.
__attribute__((visibility("default"))) std::uint64_t lockwright_memory_taken() noexcept {
  return native_env::fresh_nodes.bytes() + native_env::nodes_without_mapping.bytes() +
         native_env::blocks.bytes() + native_env::common_bytes.load(std::memory_order_relaxed);
}

}  // extern "C"
