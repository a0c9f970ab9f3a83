// alock-ls with fewer slots than waiters: two waiters poll the same line, and one is the successor.
#include <string_view>

#include <gtest/gtest.h>

#include "lockwright/row/alock_ls.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;

template <std::uint64_t Slots>
struct few_slots : observed {
  template <const lockwright::tunable& What, const char* Lock>
  static std::uint64_t setting() {
    if constexpr (std::string_view{What.name} == "slots") {
      return Slots;
    } else {
      return observed::setting<What, Lock>();
    }
  }
};

template <class Env>
class Alock : public lock_test {
 protected:
  lockwright::alock_ls_lock<Env> lock_;
};
// One, a power of two, and a number that does not divide 2^32.
using slot_counts = ::testing::Types<few_slots<1>, few_slots<2>, few_slots<3>>;
TYPED_TEST_SUITE(Alock, slot_counts);

TYPED_TEST(Alock, more_waiters_than_slots) {
  for (int round = 0; round < 5; ++round) {
    this->lock_.lock();
    waiting_line waiters{this->lock_};
    for (std::uint32_t i = 0; i < 8; ++i) {
      waiters.add(0, i);
      EXPECT_FALSE(this->lock_.try_lock());
    }
    EXPECT_EQ(waiters.admit(), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    ASSERT_TRUE(this->lock_.try_lock());
    this->lock_.unlock();
  }
}

}  // namespace
