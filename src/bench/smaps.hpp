// The memory of the process.
#pragma once

#include <cstdint>

namespace bench {

// Both exact to the page. The second one without the pages of files, which the kernel maps many at
// a time when code first runs.
std::int64_t resident_bytes();
std::int64_t anonymous_bytes();

// The bytes that the library under test reports to have taken for locks: state that lies outside
// the mutexes, and nodes of their waiters, the most at a time. 0 where none is preloaded; of
// another project's library nothing is known.
std::int64_t taken_bytes();

}  // namespace bench
