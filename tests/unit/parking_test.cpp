// The table in which the waiters of all parking-lot locks sleep.
#include <gtest/gtest.h>

#include <cstring>

#include "lockwright/lock/parking_lot.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;

/// A fair turn whenever time has passed, or never.
template <std::uint64_t Fair>
struct settings : observed {
  template <const lockwright::tunable& What>
  static std::uint64_t value() {
    return std::strcmp(What.name, "fair-ns") == 0 ? Fair : observed::value<What>();
  }
};
constexpr std::uint64_t at_once = 1;
constexpr std::uint64_t hardly_ever = 0xffff'ffff;

class Parking : public ::testing::Test {
 protected:
  void SetUp() override { nodes_out = 0; }
  void TearDown() override { EXPECT_EQ(nodes_out.load(), 0); }
};

// Locks whose sleepers share a bucket: each unlock wakes a sleeper of its own lock, the first one.
TEST_F(Parking, sleepers_of_several_locks_in_one_bucket) {
  using lock_type = lockwright::parking_lot<settings<hardly_ever>>;
  using table = lockwright::parking_table<settings<hardly_ever>>;
  constexpr std::size_t wanted = 4;
  std::vector<lock_type> all(wanted * table::buckets * 16);
  std::vector<lock_type*> together;
  for (lock_type& one : all) {
    if (together.size() < wanted && table::bucket_of(&one) == table::bucket_of(&all.front())) {
      together.push_back(&one);
    }
  }
  ASSERT_EQ(together.size(), wanted);

  struct stay {
    std::atomic<bool> in{false};
    std::atomic<bool> leave{false};
    std::unique_ptr<test_thread> who;
  };
  std::vector<stay> stays(2 * wanted);
  for (lock_type* lock : together) {
    lock->lock();
  }
  for (std::size_t i = 0; i < stays.size(); ++i) {
    stay& mine = stays[i];
    mine.who = std::make_unique<test_thread>([&mine, lock = together[i % wanted]] {
      lock->lock();
      mine.in = true;
      while (!mine.leave) {
        std::this_thread::yield();
      }
      lock->unlock();
    });
    mine.who->wait_until_asleep();
  }
  const auto await = [](const std::atomic<bool>& what) {
    while (!what) {
      std::this_thread::yield();
    }
  };
  for (const std::size_t which : {2u, 0u, 3u, 1u}) {
    together[which]->unlock();
    await(stays[which].in);
  }
  for (std::size_t i = wanted; i < stays.size(); ++i) {
    EXPECT_FALSE(stays[i].in);
  }
  for (const std::size_t which : {1u, 3u, 0u, 2u}) {
    stays[which].leave = true;
    await(stays[wanted + which].in);
    stays[wanted + which].leave = true;
    stays[which].who->join();
    stays[wanted + which].who->join();
  }
  for (lock_type* lock : together) {
    EXPECT_TRUE(lock->try_lock());
    lock->unlock();
  }
}

// When it is time for a fair turn, the thread that comes right behind an unlock finds the lock
// taken.
TEST_F(Parking, hands_over_when_it_is_time) {
  lockwright::parking_lot<settings<at_once>> lock;
  for (int round = 0; round < 5; ++round) {
    lock.lock();
    std::atomic<bool> leave{false};
    test_thread waiter{[&] {
      lock.lock();
      while (!leave) {
        std::this_thread::yield();
      }
      lock.unlock();
    }};
    waiter.wait_until_asleep();
    lock.unlock();
    // The first time only starts the bucket's clock.
    if (round != 0) {
      EXPECT_FALSE(lock.try_lock());
    } else if (lock.try_lock()) {
      lock.unlock();
    }
    leave = true;
  }
}

}  // namespace
