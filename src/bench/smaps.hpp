// How much memory the process has.
#pragma once

#include <cstdint>

namespace bench {

// Both exact to the page. The second one without the pages of files, which the kernel maps many at
// a time when code first runs.
std::int64_t resident_bytes();
std::int64_t anonymous_bytes();

}  // namespace bench
