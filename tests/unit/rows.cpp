#include "rows.hpp"

namespace testing_locks {

// One source file each, which the build writes.
#define LOCKWRIGHT_LOCK(name, identifier, ...) const tested_row& row_##identifier();
#include "lockwright/built.def"
#undef LOCKWRIGHT_LOCK

std::vector<const tested_row*> all_rows() {
  return {
#define LOCKWRIGHT_LOCK(name, identifier, ...) &row_##identifier(),
#include "lockwright/built.def"
#undef LOCKWRIGHT_LOCK
  };
}

}  // namespace testing_locks
