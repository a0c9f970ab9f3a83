// Tests of the traits that the rows of the registry state.
#include "measures.hpp"
#include "rows.hpp"

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;
using lockwright::category;

class Properties : public row_test {
 protected:
  /// Returns true if waiters sleep for less than `sleep`, and then poll until they have the lock.
  static bool polls_after(std::chrono::nanoseconds sleep) {
    const std::chrono::nanoseconds timeout{row().default_of("timeout-ns")};
    return timeout != 0ns && timeout < sleep;
  }

  void SetUp() override {
    row_test::SetUp();
    bound = 100'000;
  }
};
LOCKWRIGHT_EACH_ROW(Properties);

TEST_P(Properties, admits_in_the_order_of_arrival) {
  if (!traits().fifo) {
    GTEST_SKIP() << "not stated";
  }
  for (const std::uint64_t spinning : {std::uint64_t{0}, std::uint64_t{1'000'000'000'000}}) {
    for (const std::uint32_t nodes : {1u, 3u}) {
      const std::vector<std::uint32_t> order = order_of_admission<lock_type>(spinning, nodes);
      EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    }
  }
}

// Light: no more than one atomic read-modify-write to acquire a free lock and one to release it,
// and no queue node. A lock that is not light has a longer path here, except NUMA-aware and
// load-controlling locks, whose work may be in contended acquisitions only.
TEST_P(Properties, light_is_a_short_uncontended_path) {
  if (traits().category == category::library) {
    GTEST_SKIP() << "the C library's code";
  }
  const uncontended_path path = measure_path<counted_lock>();
  SCOPED_TRACE(::testing::Message()
               << path.updates_in_lock << " read-modify-writes in lock(), "
               << path.updates_in_unlock << " in unlock(), " << path.queue_nodes << " nodes");
  if (traits().light) {
    EXPECT_TRUE(path.is_short());
  } else if (traits().category == category::competitive_succession ||
             traits().category == category::direct_handoff) {
    EXPECT_FALSE(path.is_short());
  }
}

// Four threads, one of which holds the lock: no more than stated for each. Some locks need a node
// to hold, some only to wait.
TEST_P(Properties, takes_no_more_for_queue_nodes_than_stated) {
  std::optional<lock_type> storage{std::in_place};
  auto& lock = *storage;
  const std::int64_t before = nodes_out.load();
  const auto taken = [before] {
    return (nodes_out.load() - before) * std::int64_t{lockwright::native_env::node_size};
  };
  const std::int64_t stated{traits().node_bytes};
  lock.lock();
  EXPECT_LE(taken(), stated);
  waiting_line waiters{lock};
  for (int i = 0; i < 3; ++i) {
    waiters.add(0);
    EXPECT_LE(taken(), stated * (i + 2));
  }
  waiters.admit();
  EXPECT_LE(taken(), stated);
  storage.reset();
  EXPECT_EQ(taken(), 0);
}

/// The time for which the lock is held while others wait.
constexpr auto hold = 100ms;

TEST_P(Properties, parked_waiters_use_no_processor_time) {
  if (!traits().parks() || polls_after(hold)) {
    GTEST_SKIP() << "does not park for so long";
  }
  hold_while_others_wait<native_lock>([](const auto& clocks) {
    std::this_thread::sleep_for(hold);
    for (const processor_clock& waiter : clocks) {
      EXPECT_LT(waiter.used(), spinning_time);
    }
  });
}

}  // namespace
