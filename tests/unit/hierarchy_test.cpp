// Tests of the NUMA-aware algorithms, on declared nodes.
#include "observed.hpp"
#include "rows.hpp"

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;

class Hierarchy : public row_test {
 protected:
  /// A light lock records nothing of its holder, so its batches consist of waiters only.
  static bool hierarchical() {
    return traits().category == lockwright::category::hierarchical && !traits().light;
  }

  void SetUp() override {
    row_test::SetUp();
    declared_nodes = 2;
  }
};
LOCKWRIGHT_EACH_ROW(Hierarchy);

TEST_P(Hierarchy, stays_on_a_node_while_others_wait) {
  if (!hierarchical()) {
    GTEST_SKIP() << "not hierarchical";
  }
  lock_type lock;
  lock.lock();  // on node 0
  waiting_line waiters{lock};
  for (int i = 0; i < 5; ++i) {
    waiters.add(1);
    waiters.add(0);
  }
  EXPECT_EQ(waiters.admit(), (std::vector<std::uint32_t>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}));
}

// No more than `batch` admissions in a row on one node while a thread of the other one waits, and
// no fewer.
TEST_P(Hierarchy, leaves_a_node_after_a_bound) {
  const std::size_t batch = row().default_of("batch");
  if (!hierarchical() || batch == 0) {
    GTEST_SKIP() << "not hierarchical, or without a bound";
  }
  if (!row().fair_between_nodes) {
    GTEST_SKIP() << "nodes race for the lock; cohort_test tests the bound";
  }
  lock_type lock;
  lock.lock();  // on node 0: the first of its batch
  waiting_line waiters{lock};
  waiters.add(1);
  for (std::size_t i = 0; i < batch + 20; ++i) {
    waiters.add(0);
  }
  const std::vector<std::uint32_t>& admitted = waiters.admit();
  ASSERT_EQ(admitted.size(), batch + 21);
  const auto remote = std::find(admitted.begin(), admitted.end(), 1u) - admitted.begin();
  EXPECT_GE(remote, static_cast<std::ptrdiff_t>(batch) - 1) << "the lock left its node early";
  EXPECT_LE(remote, static_cast<std::ptrdiff_t>(batch));
}

TEST_P(Hierarchy, exclusion_across_nodes) {
  lock_type lock;
  long counter = 0;
  std::atomic<long> entered{0};
  const budget time{150ms};
  in_parallel(6, [&](int i) {
    my_node = static_cast<std::uint32_t>(i) % 2;
    long sections = 0;
    do {
      if (i % 3 == 0) {
        if (!lock.try_lock()) {
          std::this_thread::yield();
          continue;
        }
      } else {
        lock.lock();
      }
      ++counter;
      // The thread moves to the other node while it holds the lock.
      my_node = (my_node + static_cast<std::uint32_t>(sections)) % 2;
      lock.unlock();
      ++sections;
    } while (!time.spent());
    entered += sections;
  });
  EXPECT_EQ(counter, entered.load());
}

// Held from one node, refused on the other, and free again for both.
TEST_P(Hierarchy, trylock_across_nodes) {
  lock_type lock;
  for (std::uint32_t holder : {0u, 1u}) {
    for (std::uint32_t caller : {0u, 1u}) {
      my_node = holder;
      lock.lock();
      bool taken = true;
      test_thread{[&] { taken = lock.try_lock(); }, caller}.join();
      EXPECT_FALSE(taken);
      lock.unlock();
      test_thread{[&] {
                    taken = lock.try_lock();
                    if (taken) {
                      lock.unlock();
                    }
                  },
                  caller}
          .join();
      EXPECT_TRUE(taken);
    }
  }
}

// The last user, on the same node as the previous one or on another, destroys the lock at once: the
// previous user may still be in unlock(), and the memory that it accesses must not be reused yet.
TEST_P(Hierarchy, destroyed_by_the_last_user) {
  struct object {
    perturbed_lock lock;
    int users = 2;
  };
  std::atomic<bool> stop{false};
  // Reserves, and so zeroes, all state that becomes free.
  test_thread reserver{[&] {
    std::vector<std::pair<void*, std::size_t>> blocks;
    while (!stop.load()) {
      for (std::size_t size = 64; size <= 1'024; size *= 2) {
        blocks.emplace_back(observed::reserve(size, &stop), size);
      }
      if (blocks.size() > 50) {
        for (const auto& [block, size] : blocks) {
          observed::unreserve(block, size, &stop);
        }
        blocks.clear();
      }
    }
  }};
  const budget time{500ms};
  for (int round = 0; round < 7'000 && !time.spent(); ++round) {
    declared_nodes = round % 4 == 0 ? 1 : 2;
    auto* shared = new object;
    in_parallel(2, [&](int i) {
      my_node = static_cast<std::uint32_t>(i) % declared_nodes;
      shared->lock.lock();
      const int left = --shared->users;
      shared->lock.unlock();
      if (left == 0) {
        delete shared;
      }
    });
  }
  stop = true;
}

}  // namespace
