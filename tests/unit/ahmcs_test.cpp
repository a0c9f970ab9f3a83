// The paths of ahmcs: directly to the root, or through the queue of a NUMA node. A thread uses one
// queue node on the fast path and two on the slow path.
#include <string_view>

#include <gtest/gtest.h>

#include "lockwright/row/ahmcs.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;

class Ahmcs : public lock_test {
 protected:
  using lock_type = lockwright::ahmcs_lock<observed>;
  lock_type lock_;

  void SetUp() override {
    lock_test::SetUp();
    declared_nodes = 2;
  }

  /// Returns the queue nodes that the caller uses to lock while another thread holds the lock until
  /// the caller waits. `behind` more threads queue after the caller, alternately on both nodes.
  std::int64_t nodes_to_wait(std::uint32_t behind) {
    holder<lock_type> first{lock_};
    first.wait_until_inside();
    const std::int64_t before = nodes_out.load();
    operation_counts counts;
    my_counts = &counts;
    std::int64_t used = 0;
    test_thread helper{[&] {
      wait_until([&] { return counts.polls.load() != 0; });
      used = nodes_out.load() - before;
      first.leave();
    }};
    lock_.lock();
    my_counts = nullptr;
    helper.join();
    waiting_line others{lock_};
    for (std::uint32_t i = 0; i < behind; ++i) {
      others.add(i % 2);
    }
    others.admit();
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

// Runs in a new thread, which has no history.
TEST_F(Ahmcs, a_thread_takes_the_fast_path_unless_its_last_acquisition_was_contended) {
  test_thread{[&] {
    // Acquires the leaf and waits at the root: two nodes.
    EXPECT_EQ(nodes_to_wait(0), 2);
    // No thread queued behind it: the fast path.
    EXPECT_EQ(nodes_to_wait(0), 1);
    // One thread queued behind it: too little contention.
    EXPECT_EQ(nodes_to_wait(1), 1);
    EXPECT_EQ(nodes_to_wait(3), 1);
    // Three queued behind it.
    EXPECT_EQ(nodes_to_wait(3), 2);
    // Three queued behind it in the leaf, too.
    EXPECT_EQ(nodes_to_wait(0), 2);
    EXPECT_EQ(nodes_to_wait(0), 1);
  }}.join();
}

TEST_F(Ahmcs, each_thread_has_its_history) {
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

// The holder has bypassed its node's queue. Threads of the queue, as in hmcs, keep the lock on
// their node up to the bound, then pass it to the other node.
TEST_F(Ahmcs, keeps_to_a_node_for_a_batch) {
  lockwright::ahmcs_lock<batch_of_five> lock;
  waiting_line waiters{lock};
  lock.lock();
  for (const std::uint32_t node : {0, 1, 0, 0, 0, 0, 0, 0, 0, 1}) {
    waiters.add(node);
  }
  EXPECT_EQ(waiters.admit(), (std::vector<std::uint32_t>{0, 0, 0, 0, 0, 1, 1, 0, 0, 0}));
}

// Threads of both paths compete for the lock.
TEST_F(Ahmcs, both_paths_exclude) {
  long counter = 0;
  std::atomic<long> entered{0};
  const budget time{std::chrono::milliseconds{200}};
  in_parallel(5, [&](int i) {
    my_node = static_cast<std::uint32_t>(i) % 2;
    long sections = 0;
    do {
      lock_.lock();
      ++counter;
      lock_.unlock();
      ++sections;
      if (i == 4) {
        // Rare, so that it sometimes finds no contention.
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
      }
    } while (!time.spent());
    entered += sections;
  });
  EXPECT_EQ(counter, entered.load());
}

}  // namespace
