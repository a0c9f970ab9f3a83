// The rows of the registry as a list of types for typed tests.
#pragma once

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "lockwright/registry.hpp"

namespace testing_locks {

#define LOCKWRIGHT_LOCK(name, identifier, header, ...) \
  struct identifier##_row {                            \
    static constexpr const char* label = name;         \
    template <class Env>                               \
    using lock = lockwright::identifier##_lock<Env>;   \
  };
#include "lockwright/registry.def"
#undef LOCKWRIGHT_LOCK

template <class None, class... Rows>
struct rows_after {
  using type = ::testing::Types<Rows...>;
};

#define LOCKWRIGHT_LOCK(name, identifier, header, ...) , identifier##_row
using all_rows = rows_after<void
#include "lockwright/registry.def"
                            >::type;
#undef LOCKWRIGHT_LOCK

/// Names a typed suite's tests after the algorithm: Locks/mcs_spin.fifo
struct row_name {
  template <class Row>
  static std::string GetName(int) {
    std::string name = Row::label;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
};

}  // namespace testing_locks
