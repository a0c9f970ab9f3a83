// ahmcs: which threads go straight to the root, and which through the queue of their node. One
// queue node a thread is in use on the fast path, two on the long one.
#include <string_view>

#include <gtest/gtest.h>

#include "lockwright/row/ahmcs.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;

class Ahmcs : public ::testing::Test {
 protected:
  lockwright::ahmcs_lock<observed> lock_;

  void SetUp() override {
    nodes_out = 0;
    declared_nodes = 2;
    my_node = 0;
  }
  void TearDown() override {
    EXPECT_EQ(nodes_out.load(), 0);
    declared_nodes = 1;
  }

  /// The queue nodes that the caller uses to lock, while the lock is held by another thread that
  /// lets go at once, and with `behind` more threads that come after, from either node in turn.
  std::int64_t nodes_to_wait(std::size_t behind) {
    std::atomic<bool> held{false};
    std::atomic<bool> waiting{false};
    test_thread holder{[&] {
      lock_.lock();
      held = true;
      while (!waiting.load()) {
        std::this_thread::yield();
      }
      lock_.unlock();
    }};
    while (!held.load()) {
      std::this_thread::yield();
    }
    const std::int64_t before = nodes_out.load();
    operation_counts here;
    mine = &here;
    std::int64_t used = 0;
    test_thread helper{[&] {
      while (here.polls.load() == 0) {
        std::this_thread::yield();
      }
      used = nodes_out.load() - before;
      waiting = true;
    }};
    lock_.lock();
    mine = nullptr;
    helper.join();
    test_threads others;
    for (std::size_t i = 0; i < behind; ++i) {
      others.push_back(std::make_unique<test_thread>(
          [this] {
            lock_.lock();
            lock_.unlock();
          },
          static_cast<std::uint32_t>(i) % 2));
      others.back()->wait_until_polling();
    }
    lock_.unlock();
    return used;
  }
};

TEST_F(Ahmcs, an_idle_lock_is_taken_at_the_root) {
  lock_.lock();
  EXPECT_EQ(nodes_out.load(), 1);
  lock_.unlock();
  ASSERT_TRUE(lock_.try_lock());
  EXPECT_EQ(nodes_out.load(), 1);
  lock_.unlock();
}

// In a thread of its own, which remembers nothing to begin with.
TEST_F(Ahmcs, a_thread_that_met_nobody_goes_straight_and_one_that_met_a_crowd_does_not) {
  test_thread{[&] {
    // Takes the leaf, and at the root it waits: two nodes.
    EXPECT_EQ(nodes_to_wait(0), 2);
    // No thread came after it: straight.
    EXPECT_EQ(nodes_to_wait(0), 1);
    // One came after it, which is not contention enough.
    EXPECT_EQ(nodes_to_wait(1), 1);
    EXPECT_EQ(nodes_to_wait(3), 1);
    // More of them did.
    EXPECT_EQ(nodes_to_wait(3), 2);
    // In the leaf, too.
    EXPECT_EQ(nodes_to_wait(0), 2);
    EXPECT_EQ(nodes_to_wait(0), 1);
  }}.join();
}

// What another thread remembers is its own.
TEST_F(Ahmcs, each_thread_remembers_for_itself) {
  test_thread{[&] {
    nodes_to_wait(0);
    EXPECT_EQ(nodes_to_wait(0), 1);
  }}.join();
  test_thread{[&] { EXPECT_EQ(nodes_to_wait(0), 2); }}.join();
}

struct batch_of_five : observed {
  template <const lockwright::tunable& What, const char* Lock>
  static std::uint64_t setting() {
    if constexpr (std::string_view{What.name} == "batch") {
      return 5;
    } else {
      return observed::setting<What, Lock>();
    }
  }
};

// The holder has gone past its node's queue. Those of the queue, as in hmcs, stay on their node up
// to the bound, and then let the other node in.
TEST_F(Ahmcs, keeps_to_a_node_for_a_batch) {
  lockwright::ahmcs_lock<batch_of_five> lock;
  std::vector<std::uint32_t> admitted;
  test_threads waiters;
  const auto wait = [&](std::uint32_t node) {
    waiters.push_back(std::make_unique<test_thread>(
        [&, node] {
          lock.lock();
          admitted.push_back(node);
          lock.unlock();
        },
        node));
    waiters.back()->wait_until_polling();
  };
  lock.lock();
  wait(0);
  wait(1);
  for (int i = 0; i < 7; ++i) {
    wait(0);
  }
  wait(1);
  lock.unlock();
  waiters.clear();
  EXPECT_EQ(admitted, (std::vector<std::uint32_t>{0, 0, 0, 0, 0, 1, 1, 0, 0, 0}));
}

// A thread that goes straight and one of each leaf, by turns: all get in.
TEST_F(Ahmcs, both_ways_lead_in) {
  long counter = 0;
  std::atomic<long> entered{0};
  const budget time{std::chrono::milliseconds{200}};
  in_parallel(5, [&](int i) {
    my_node = static_cast<std::uint32_t>(i) % 2;
    long own = 0;
    do {
      lock_.lock();
      ++counter;
      lock_.unlock();
      ++own;
      if (i == 4) {
        // Rarely enough that it meets no thread now and then.
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
      }
    } while (!time.spent());
    entered += own;
  });
  EXPECT_EQ(counter, entered.load());
}

}  // namespace
