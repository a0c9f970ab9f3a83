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
class Cohort : public lock_test {
 protected:
  lockwright::outside<observed, lockwright::cohort<observed, counted, Local, three>> lock_;
  waiting_line<decltype(lock_)> waiters_{lock_};

  void SetUp() override {
    lock_test::SetUp();
    taken = released = 0;
    declared_nodes = 2;
  }
  void TearDown() override {
    lock_test::TearDown();
    EXPECT_EQ(taken.load(), released.load());
  }

  void wait(std::uint32_t node, int threads) {
    for (int i = 0; i < threads; ++i) {
      waiters_.add(node);
    }
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
  this->wait(0, 10);
  EXPECT_EQ(taken.load(), 1);
  this->waiters_.admit();
  EXPECT_EQ(taken.load(), 3);
}

// A batch that ended early, for want of waiters, is not added to the next one.
TYPED_TEST(Cohort, counts_each_batch_separately) {
  for (int round = 0; round < 3; ++round) {
    this->lock_.lock();
    this->wait(0, 2);
    this->waiters_.admit();
    EXPECT_EQ(taken.load(), round + 1);
  }
}

// Seven and four waiters on two nodes: batches of four, the first one with the holder.
TYPED_TEST(Cohort, nodes_alternate_by_batches) {
  this->lock_.lock();
  this->wait(1, 4);
  this->wait(0, 7);
  EXPECT_EQ(this->waiters_.admit(), (std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(taken.load(), 3);
}

// Refused at the global lock, a trylock leaves its node's lock as it was.
TYPED_TEST(Cohort, a_refused_trylock_leaves_no_trace) {
  this->lock_.lock();
  test_thread{[&] { EXPECT_FALSE(this->lock_.try_lock()); }, 1}.join();
  EXPECT_EQ(taken.load(), 1);
  this->wait(1, 1);
  EXPECT_EQ(taken.load(), 2) << "a thread of the other node waits at the global lock";
  this->waiters_.admit();
}

}  // namespace
