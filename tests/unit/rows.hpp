// The row of the registry that this source is compiled for, as a list of types for typed tests.
#pragma once

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#if !defined(LOCKWRIGHT_TESTED_ROW)
#error "CMakeLists.txt compiles this source once for each lock"
#endif

namespace testing_locks {

using all_rows = ::testing::Types<lockwright::LOCKWRIGHT_TESTED_ROW>;

/// Names a typed suite's tests after the algorithm: Locks/mcs_spin.trylock
struct row_name {
  template <class Row>
  static std::string GetName(int) {
    std::string name = Row::name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
};

}  // namespace testing_locks
