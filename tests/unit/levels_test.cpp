// A lock with more levels of the machine than NUMA nodes, on declared levels.
#include <gtest/gtest.h>

#include <algorithm>

#include "lockwright/row/clof.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;
using lock_type = lockwright::clof_lock<observed>;

class Levels : public lock_test {
 protected:
  void SetUp() override {
    lock_test::SetUp();
    declared_nodes = declared_caches = 2;
  }

  /// Queues a thread in a group of level 0, and returns when it waits.
  void wait_from(std::uint32_t group) {
    inside.push_back(false);
    waiters.push_back(std::make_unique<test_thread>(
        [this, group, i = waiters.size()] {
          my_cache = group % 2;
          lock.lock();
          admitted.push_back(group);
          inside[i] = true;
          // The head of another group's queue now moves to the next level.
          if (group == 1) {
            let_waiters_poll(waiters, inside);
          }
          // It runs on another node when it unlocks.
          my_node = 1 - my_node;
          my_cache = 1 - my_cache;
          lock.unlock();
        },
        group / 2));
    waiters.back()->wait_until_polling();
  }

  /// Called by the holder.
  void admit_all() {
    lock.unlock();
    for (const auto& waiter : waiters) {  // each reads the counts of the others
      waiter->join();
    }
  }

  lock_type lock;
  std::vector<std::uint32_t> admitted;
  std::vector<bool> inside;
  test_threads waiters;
};

TEST_F(Levels, the_nearest_come_first) {
  lock.lock();  // in group 0
  for (int i = 0; i < 4; ++i) {
    for (const std::uint32_t group : {3u, 1u, 2u, 0u}) {
      wait_from(group);
    }
  }
  admit_all();
  // The waiters of the cache, then those of the node, then those of the other node likewise.
  EXPECT_EQ(admitted, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1, 3, 3, 3, 3, 2, 2, 2, 2}));
}

TEST_F(Levels, each_level_yields_after_a_bound) {
  const std::size_t batch = lock_type::algorithm::batch.default_value;
  lock.lock();
  wait_from(2);
  wait_from(1);
  for (std::size_t i = 0; i < batch + 10; ++i) {
    wait_from(0);
  }
  admit_all();
  ASSERT_EQ(admitted.size(), batch + 12);
  const auto position = [this](std::uint32_t group) {
    return static_cast<std::size_t>(std::ranges::find(admitted, group) - admitted.begin());
  };
  // By then the cache has passed the lock on `batch` times, the node not once.
  EXPECT_EQ(position(1), batch);
  EXPECT_EQ(position(2), batch + 11);
}

TEST_F(Levels, memory_for_the_existing_levels) {
  const std::uint64_t all = lock_type::bytes_outside();
  declared_caches = 1;
  const std::uint64_t without_caches = lock_type::bytes_outside();
  declared_nodes = 1;
  EXPECT_LT(without_caches, all);
  EXPECT_LT(lock_type::bytes_outside(), without_caches);
}

}  // namespace
