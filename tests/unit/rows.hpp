// The locks of the build behind one interface: the tests of all of them are compiled once. The build
// writes a source for each row of the registry, which includes row_of.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "lockwright/lock.hpp"
#include "lockwright/tunable.hpp"
#include "observed.hpp"

namespace testing_locks {

/// A lock whose type the tests do not know.
class any_lock {
 public:
  any_lock() = default;
  any_lock(const any_lock&) = delete;
  any_lock& operator=(const any_lock&) = delete;
  virtual ~any_lock() = default;
  virtual lockwright::arrival lock() = 0;
  virtual bool try_lock() = 0;
  virtual void unlock() = 0;
  /// Of a timed lock only.
  virtual bool try_lock_until(std::uint64_t deadline) = 0;
};

enum class environment : std::uint8_t { native, observed, watched };

/// A row of the registry.
struct tested_row {
  const char* name;
  lockwright::lock_traits traits;
  std::vector<const lockwright::tunable*> tunables;
  bool timed;             ///< in the environment of the tests
  bool timed_in_library;  ///< in that of the libraries
  bool fair_between_nodes;
  std::unique_ptr<any_lock> (*make)(environment);
  std::unique_ptr<any_lock> (*on_zeroed_memory)();  ///< observed, without a constructor call
  std::unique_ptr<any_lock> (*at_start)();  ///< refers to one, observed, made at compile time

  /// Returns the default of a tunable; 0 if there is none of that name.
  [[nodiscard]] std::uint64_t default_of(std::string_view tunable) const {
    const auto found = std::find_if(tunables.begin(), tunables.end(),
                                    [&](const auto* each) { return tunable == each->name; });
    return found == tunables.end() ? 0 : (*found)->default_value;
  }
};

/// Returns the rows of this build.
std::vector<const tested_row*> all_rows();

/// That of the running test.
inline const tested_row* tested = nullptr;

/// A lock of the row of the running test, for functions that take a type of lock.
template <environment In>
class tested_lock {
 public:
  tested_lock() : lock_{tested->make(In)} {}
  lockwright::arrival lock() { return lock_->lock(); }
  bool try_lock() { return lock_->try_lock(); }
  void unlock() { lock_->unlock(); }
  bool try_lock_until(std::uint64_t deadline) { return lock_->try_lock_until(deadline); }

 private:
  std::unique_ptr<any_lock> lock_;
};

/// A test that runs for each row.
class row_test : public lock_test, public ::testing::WithParamInterface<const tested_row*> {
 protected:
  using lock_type = tested_lock<environment::observed>;
  using native_lock = tested_lock<environment::native>;
  using perturbed_lock = perturbed<tested_lock<environment::watched>>;
  using counted_lock = tested_lock<environment::watched>;

  void SetUp() override {
    lock_test::SetUp();
    tested = GetParam();
  }
  static const tested_row& row() { return *GetParam(); }
  static const lockwright::lock_traits& traits() { return row().traits; }
};

/// Names a test after the algorithm: Each/Locks.trylock/mcs_spin
inline std::string name_of_row(const ::testing::TestParamInfo<const tested_row*>& info) {
  std::string name = info.param->name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

#define LOCKWRIGHT_EACH_ROW(suite)                                                        \
  INSTANTIATE_TEST_SUITE_P(Each, suite, ::testing::ValuesIn(::testing_locks::all_rows()), \
                           ::testing_locks::name_of_row)

}  // namespace testing_locks
