// The algorithms that use one queue for all NUMA nodes and reorder it.
#include <string_view>

#include "lockwright/lock/cna.hpp"
#include "lockwright/lock/fissile.hpp"
#include "lockwright/lock/shfllock.hpp"
#include "observed.hpp"

#include <gtest/gtest.h>

namespace {

using namespace testing_locks;

std::atomic<std::uint64_t> chance_calls{0};

/// The observed environment, with bounds that a test reaches, and chance replaced by a counter.
struct bounded : observed {
  static constexpr std::uint64_t turn = 10;
  static constexpr std::uint64_t batch = 3;
  static constexpr std::uint64_t patience = 5;

  template <const lockwright::tunable& What>
  static std::uint64_t value() {
    if constexpr (std::string_view{What.name} == "turn-one-in") {
      return turn;
    } else if constexpr (std::string_view{What.name} == "batch") {
      return batch;
    } else if constexpr (std::string_view{What.name} == "patience") {
      return patience;
    } else if constexpr (std::string_view{What.name} == "looks") {
      return 0;  // a polling thread is in the queue
    } else {
      return observed::value<What>();
    }
  }
  static bool chance(std::uint64_t one_in) { return ++chance_calls % one_in == 0; }
};

/// The observed environment, without any bound that a test could reach.
struct unbounded : observed {
  static bool chance(std::uint64_t) { return false; }
};

struct admission {
  std::uint32_t node;
  int arrival;
  friend bool operator==(const admission&, const admission&) = default;
};

/// Returns true if the threads of each node were admitted in the order of arrival.
bool in_order_on_each_node(const std::vector<admission>& all) {
  std::vector<int> last(all.size(), -1);
  for (const admission& admitted : all) {
    if (admitted.arrival < last[admitted.node]) {
      return false;
    }
    last[admitted.node] = admitted.arrival;
  }
  return true;
}

std::vector<std::uint32_t> nodes_of(const std::vector<admission>& all) {
  std::vector<std::uint32_t> nodes;
  for (const admission& admitted : all) {
    nodes.push_back(admitted.node);
  }
  return nodes;
}

/// Returns the admissions after the unlock of a holder on node 0, with a waiter on each of `nodes`,
/// queued in that order.
template <class L>
std::vector<admission> admit(const std::vector<std::uint32_t>& nodes) {
  L lock;
  std::vector<admission> admitted;
  std::vector<bool> inside(nodes.size(), false);
  test_threads waiters;
  my_node = 0;
  lock.lock();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    waiters.push_back(std::make_unique<test_thread>(
        [&, i] {
          lock.lock();
          admitted.push_back({nodes[i], static_cast<int>(i)});
          inside[i] = true;
          let_waiters_poll(waiters, inside);
          lock.unlock();
        },
        nodes[i]));
    waiters.back()->wait_until_polling();
  }
  lock.unlock();
  for (const auto& waiter : waiters) {  // each reads the counts of the others
    waiter->join();
  }
  EXPECT_EQ(admitted.size(), nodes.size());
  return admitted;
}

class NumaQueue : public lock_test {
 protected:
  void SetUp() override {
    lock_test::SetUp();
    declared_nodes = 3;
    chance_calls = 0;
  }
};

// The waiters of the holder's node first, then those set aside, in the order of arrival.
TEST_F(NumaQueue, cna_sets_other_nodes_aside) {
  const auto admitted = admit<lockwright::cna<unbounded>>({1, 2, 0, 1, 0, 2, 0});
  EXPECT_EQ(admitted,
            (std::vector<admission>{{0, 2}, {0, 4}, {0, 6}, {1, 0}, {1, 3}, {2, 1}, {2, 5}}));
}

// Chance moves the lock off a node that always has waiters.
TEST_F(NumaQueue, cna_leaves_a_node_after_a_while) {
  std::vector<std::uint32_t> arrivals(30, 0);
  arrivals[0] = 1;
  const auto admitted = admit<lockwright::cna<bounded>>(arrivals);
  EXPECT_TRUE(in_order_on_each_node(admitted));
  const auto nodes = nodes_of(admitted);
  EXPECT_EQ(std::find(nodes.begin(), nodes.end(), 1u) - nodes.begin(),
            static_cast<std::ptrdiff_t>(bounded::turn) - 1);
}

// With no thread left on the holder's node nor in the main queue, the secondary queue becomes the
// main one, and threads that arrive then queue behind it.
TEST_F(NumaQueue, cna_queues_arrivals_behind_those_set_aside) {
  using L = lockwright::cna<unbounded>;
  L lock;
  std::vector<int> admitted;
  std::atomic<bool> all_arrived{false};
  test_threads all;
  my_node = 0;
  const auto arrive = [&](int id, std::uint32_t node) {
    all.push_back(std::make_unique<test_thread>(
        [&, id] {
          lock.lock();
          admitted.push_back(id);
          // 1 and 2 are set aside when 0 has the lock, and 3 finds the main queue empty.
          wait_until([&] { return id != 0 || all_arrived.load(); });
          lock.unlock();
        },
        node));
    all.back()->wait_until_polling();
  };
  lock.lock();
  arrive(1, 1);
  arrive(2, 2);
  arrive(0, 0);
  lock.unlock();
  arrive(3, 1);
  all_arrived = true;
  all.clear();
  EXPECT_EQ(admitted.front(), 0);
  EXPECT_EQ(admitted.size(), 4u);
  EXPECT_LT(std::find(admitted.begin(), admitted.end(), 1),
            std::find(admitted.begin(), admitted.end(), 3));
}

// The first waiter finds no thread to choose from. The others choose while they wait for the lock.
TEST_F(NumaQueue, fissile_sets_other_nodes_aside) {
  const auto admitted = admit<lockwright::fissile<unbounded>>({1, 0, 1, 0, 1, 0, 1, 0, 1, 2});
  EXPECT_EQ(nodes_of(admitted), (std::vector<std::uint32_t>{1, 0, 0, 0, 0, 1, 1, 1, 1, 2}));
  EXPECT_TRUE(in_order_on_each_node(admitted));
}

TEST_F(NumaQueue, fissile_is_handed_to_an_impatient_waiter) {
  for (int round = 0; round < 50; ++round) {
    lockwright::fissile<bounded> lock;
    lock.lock();
    holder waiter{lock};
    wait_until([&] { return waiter.thread().polls() >= bounded::patience + 2; });
    lock.unlock();
    const bool stolen = lock.try_lock();
    if (stolen) {
      lock.unlock();
    }
    ASSERT_FALSE(stolen) << "in round " << round;
  }
}

template <class L>
class Shuffled : public NumaQueue {};
using shuffled_locks = ::testing::Types<lockwright::shfllock<bounded, lockwright::shfl_spin>,
                                        lockwright::shfllock<bounded, lockwright::shfl_park>>;
TYPED_TEST_SUITE(Shuffled, shuffled_locks);

// The first waiter finds no thread to shuffle. The second, once it is the first, brings its own
// node forward, but no more than a batch, and never the last one in the queue.
TYPED_TEST(Shuffled, groups_a_batch_of_one_node) {
  const auto admitted = admit<TypeParam>({1, 0, 1, 0, 1, 0, 1, 0, 1, 2});
  EXPECT_EQ(nodes_of(admitted), (std::vector<std::uint32_t>{1, 0, 0, 0, 1, 1, 1, 0, 1, 2}));
  EXPECT_TRUE(in_order_on_each_node(admitted));
}

TYPED_TEST(Shuffled, leaves_one_node_in_order) {
  const auto admitted = admit<TypeParam>(std::vector<std::uint32_t>(12, 1));
  EXPECT_TRUE(in_order_on_each_node(admitted));
}

// Stealing is disabled only while threads queue.
TYPED_TEST(Shuffled, can_be_tried_again_after_a_queue) {
  TypeParam lock;
  for (int round = 0; round < 20; ++round) {
    lock.lock();
    waiting_line waiters{lock};
    for (int i = 0; i < 3; ++i) {
      waiters.add(next_node());
    }
    waiters.admit();
    ASSERT_TRUE(lock.try_lock());
    lock.unlock();
  }
}

}  // namespace
