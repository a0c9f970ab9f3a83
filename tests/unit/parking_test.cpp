// The table in which the waiters of all parking-lot locks sleep.
#include <gtest/gtest.h>

#include <cstring>

#include "lockwright/lock/parking_lot.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;

/// A fair unlock whenever time has passed, or never.
template <std::uint64_t Fair>
struct settings : observed {
  template <const lockwright::tunable& What>
  static std::uint64_t value() {
    return std::strcmp(What.name, "fair-ns") == 0 ? Fair : observed::value<What>();
  }
};
constexpr std::uint64_t at_once = 1;
constexpr std::uint64_t hardly_ever = 0xffff'ffff;

class Parking : public lock_test {};

// Locks whose sleepers share a bucket: each unlock wakes a sleeper of its own lock, the first one.
TEST_F(Parking, sleepers_of_several_locks_in_one_bucket) {
  using lock_type = lockwright::parking_lot<settings<hardly_ever>>;
  using table = lockwright::parking_table<settings<hardly_ever>>;
  constexpr std::size_t wanted = 4;
  std::vector<lock_type> all(wanted * table::buckets * 16);
  std::vector<lock_type*> together;
  for (lock_type& lock : all) {
    if (together.size() < wanted && table::bucket_of(&lock) == table::bucket_of(&all.front())) {
      together.push_back(&lock);
    }
  }
  ASSERT_EQ(together.size(), wanted);

  for (lock_type* lock : together) {
    lock->lock();
  }
  std::vector<std::unique_ptr<holder<lock_type>>> sleepers;
  for (std::size_t i = 0; i < 2 * wanted; ++i) {
    sleepers.push_back(std::make_unique<holder<lock_type>>(*together[i % wanted]));
    sleepers.back()->thread().wait_until_asleep();
  }
  for (const std::size_t which : {2u, 0u, 3u, 1u}) {
    together[which]->unlock();
    sleepers[which]->wait_until_inside();
  }
  for (std::size_t i = wanted; i < sleepers.size(); ++i) {
    EXPECT_FALSE(sleepers[i]->in());
  }
  for (const std::size_t which : {1u, 3u, 0u, 2u}) {
    sleepers[which]->leave();
    sleepers[wanted + which]->wait_until_inside();
    sleepers[wanted + which]->leave();
  }
  for (lock_type* lock : together) {
    EXPECT_TRUE(lock->try_lock());
    lock->unlock();
  }
}

// After a fair unlock, the first thread that tries finds the lock held.
TEST_F(Parking, hands_over_at_a_fair_unlock) {
  lockwright::parking_lot<settings<at_once>> lock;
  for (int round = 0; round < 5; ++round) {
    lock.lock();
    holder waiter{lock};
    waiter.thread().wait_until_asleep();
    lock.unlock();
    // The first time only starts the bucket's clock.
    if (round != 0) {
      EXPECT_FALSE(lock.try_lock());
    } else if (lock.try_lock()) {
      lock.unlock();
    }
  }
}

}  // namespace
