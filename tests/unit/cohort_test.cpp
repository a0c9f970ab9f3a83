// The cohort composition: how often it acquires and releases the global lock.
#include "lockwright/parts/cohort.hpp"

#include <gtest/gtest.h>

#include "lockwright/lock/mcs.hpp"
#include "lockwright/lock/ticket.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;

std::atomic<int> taken{0};
std::atomic<int> released{0};

/// A global lock that counts.
class counted {
 public:
  [[maybe_unused]] static constexpr auto traits = lockwright::ticket<observed>::traits;

  lockwright::arrival lock() {
    ++taken;
    return lock_.lock();
  }
  bool try_lock() {
    const bool acquired = lock_.try_lock();
    taken += acquired ? 1 : 0;
    return acquired;
  }
  void unlock() {
    ++released;
    lock_.unlock();
  }

 private:
  lockwright::ticket<observed> lock_;
};

constexpr lockwright::tunable three{.name = "three",
                                    .default_value = 3,
                                    .counted_in = lockwright::unit::count,
                                    .min = 3,
                                    .max = 3,
                                    .model_value = 3,
                                    .meaning = "",
                                    .source = ""};

template <class Local>
class Cohort : public ::testing::Test {
 protected:
  lockwright::outside<observed, lockwright::cohort<observed, counted, Local, three>> lock_;
  std::vector<std::uint32_t> admitted_;

  void SetUp() override {
    taken = released = 0;
    declared_nodes = 2;
    nodes_out = 0;
    my_node = 0;
    bound = 1'000'000'000'000;
  }
  void TearDown() override {
    declared_nodes = 1;
    EXPECT_EQ(nodes_out.load(), 0);
    EXPECT_EQ(taken.load(), released.load());
  }

  void wait(test_threads& waiters, std::uint32_t node) {
    waiters.push_back(std::make_unique<test_thread>(
        [this, node] {
          lock_.lock();
          admitted_.push_back(node);
          lock_.unlock();
        },
        node));
    waiters.back()->wait_until_polling();
  }
};

using locals =
    ::testing::Types<lockwright::ticket<observed>, lockwright::mcs<observed, lockwright::spin_wait>,
                     lockwright::mcs<observed, lockwright::spin_then_park>>;
TYPED_TEST_SUITE(Cohort, locals);

// Without waiters, a thread acquires and releases both locks each time.
TYPED_TEST(Cohort, releases_the_global_lock_without_waiters) {
  for (int i = 1; i <= 3; ++i) {
    this->lock_.lock();
    this->lock_.unlock();
    EXPECT_EQ(taken.load(), 2 * i - 1);
    ASSERT_TRUE(this->lock_.try_lock());
    this->lock_.unlock();
    EXPECT_EQ(released.load(), 2 * i);
  }
}

// One holder and three handovers, then the global lock is released, although no other node waits:
// 11 admissions are two batches of four and one of three.
TYPED_TEST(Cohort, takes_the_global_lock_once_a_batch) {
  this->lock_.lock();
  test_threads waiters;
  for (int i = 0; i < 10; ++i) {
    this->wait(waiters, 0);
  }
  EXPECT_EQ(taken.load(), 1);
  this->lock_.unlock();
  waiters.clear();
  EXPECT_EQ(taken.load(), 3);
}

// A batch that ended early, for want of waiters, is not added to the next one.
TYPED_TEST(Cohort, counts_each_batch_separately) {
  for (int round = 0; round < 3; ++round) {
    this->lock_.lock();
    test_threads waiters;
    for (int i = 0; i < 2; ++i) {
      this->wait(waiters, 0);
    }
    this->lock_.unlock();
    waiters.clear();
    EXPECT_EQ(taken.load(), round + 1);
  }
}

// Seven and four waiters on two nodes: batches of four, the first one with the holder.
TYPED_TEST(Cohort, nodes_alternate_by_batches) {
  this->lock_.lock();
  test_threads waiters;
  for (int i = 0; i < 4; ++i) {
    this->wait(waiters, 1);
  }
  for (int i = 0; i < 7; ++i) {
    this->wait(waiters, 0);
  }
  this->lock_.unlock();
  waiters.clear();
  EXPECT_EQ(this->admitted_, (std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(taken.load(), 3);
}

// Refused at the global lock, a trylock leaves its node's lock as it was.
TYPED_TEST(Cohort, a_refused_trylock_leaves_no_trace) {
  this->lock_.lock();
  test_thread{[&] { EXPECT_FALSE(this->lock_.try_lock()); }, 1}.join();
  EXPECT_EQ(taken.load(), 1);
  test_threads waiters;
  this->wait(waiters, 1);
  EXPECT_EQ(taken.load(), 2) << "a thread of the other node waits at the global lock";
  this->lock_.unlock();
  waiters.clear();
}

}  // namespace
