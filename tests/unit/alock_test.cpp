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
class Alock : public ::testing::Test {
 protected:
  lockwright::alock_ls_lock<Env> lock_;
};
// One, a power of two, and a number that does not divide 2^32.
using slot_counts = ::testing::Types<few_slots<1>, few_slots<2>, few_slots<3>>;
TYPED_TEST_SUITE(Alock, slot_counts);

TYPED_TEST(Alock, more_waiters_than_slots) {
  for (int round = 0; round < 5; ++round) {
    std::vector<int> order;
    this->lock_.lock();
    test_threads waiters;
    for (int i = 0; i < 8; ++i) {
      waiters.push_back(std::make_unique<test_thread>([&, i] {
        this->lock_.lock();
        order.push_back(i);
        this->lock_.unlock();
      }));
      waiters.back()->wait_until_polling();
      EXPECT_FALSE(this->lock_.try_lock());
    }
    this->lock_.unlock();
    waiters.clear();
    ASSERT_EQ(order.size(), 8u);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    ASSERT_TRUE(this->lock_.try_lock());
    this->lock_.unlock();
  }
}

}  // namespace
