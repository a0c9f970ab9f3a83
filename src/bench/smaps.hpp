// The memory of the process.
#pragma once

#include <cstdint>

namespace bench {

// Both exact to the page. The second one without the pages of files, which the kernel maps many at
// a time when code first runs.
std::int64_t resident_bytes();
std::int64_t anonymous_bytes();

// The bytes that the library under test has allocated for locks, as it reports them: state outside
// the mutexes, and the most queue nodes at a time. 0 without such a library.
std::int64_t taken_bytes();

}  // namespace bench
