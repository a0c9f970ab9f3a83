// The cost of a handover in futex calls, for the algorithms whose waiters sleep.
#include <string_view>

#include "observed.hpp"
#include "rows.hpp"

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;

class Handover : public row_test {
 protected:
  static bool parks_itself() {
    return traits().parks() && traits().category != lockwright::category::library;
  }
  /// For a time that a tunable sets.
  static bool spins_first() {
    return traits().waiting == lockwright::waiting::spin_then_park &&
           std::any_of(row().tunables.begin(), row().tunables.end(), [](const auto* each) {
             return std::string_view{each->name}.starts_with("spin-");
           });
  }
  static bool hands_off() {
    return traits().category == lockwright::category::direct_handoff ||
           traits().category == lockwright::category::hierarchical;
  }

  /// How a queued thread waits: polling forever, or asleep as soon as possible.
  enum waits : bool { polling, asleep };

  test_threads queue(lock_type& l, int count, waits how) {
    test_threads waiters;
    for (int i = 0; i < count; ++i) {
      waiters.push_back(std::make_unique<test_thread>([&l, how] {
        my_bound = how == asleep ? 0 : 1'000'000'000'000;
        l.lock();
        l.unlock();
      }));
      if (how == asleep) {
        waiters.back()->wait_until_asleep();
      } else {
        waiters.back()->wait_until_polling();
      }
    }
    return waiters;
  }
};
LOCKWRIGHT_EACH_ROW(Handover);

TEST_P(Handover, uncontended_use_makes_no_futex_call) {
  lock_type lock;
  for (int i = 0; i < 1'000; ++i) {
    lock.lock();
    lock.unlock();
    ASSERT_TRUE(lock.try_lock());
    ASSERT_FALSE(lock.try_lock());
    lock.unlock();
  }
  EXPECT_EQ(futex_waits.load(), 0u);
  EXPECT_EQ(futex_wakes.load(), 0u);
}

TEST_P(Handover, to_a_spinner_costs_no_futex_call) {
  if (!spins_first()) {
    GTEST_SKIP() << "does not spin for a time that can be set";
  }
  for (int round = 0; round < 5; ++round) {
    lock_type lock;
    lock.lock();
    test_threads waiters = queue(lock, 3, polling);
    lock.unlock();
    waiters.clear();
  }
  EXPECT_EQ(futex_waits.load(), 0u);
  EXPECT_EQ(futex_wakes.load(), 0u);
}

TEST_P(Handover, to_a_sleeper_costs_one_wake) {
  if (!parks_itself()) {
    GTEST_SKIP() << "never sleeps";
  }
  for (int round = 0; round < 10; ++round) {
    lock_type lock;
    lock.lock();
    test_threads waiters = queue(lock, 1, asleep);
    futex_wakes = 0;
    lock.unlock();
    EXPECT_GE(futex_wakes.load(), 1u);
    waiters.clear();
    // A lock that records only "a thread may sleep" wakes once more, when the woken thread unlocks.
    EXPECT_LE(futex_wakes.load(), hands_off() ? 1u : 2u);
  }
}

TEST_P(Handover, along_a_queue_of_sleepers_costs_one_wake_each) {
  if (!parks_itself() || !hands_off()) {
    GTEST_SKIP() << "does not hand over to sleepers";
  }
  constexpr int count = 10;
  lock_type lock;
  lock.lock();
  test_threads waiters = queue(lock, count, asleep);
  EXPECT_EQ(futex_wakes.load(), 0u);
  lock.unlock();
  waiters.clear();
  EXPECT_GE(futex_wakes.load(), std::uint64_t{count});
  // A ShflLock wakes one waiter ahead, which sleeps again if its turn has not come.
  const bool wakes_ahead = std::string_view(row().name).starts_with("shfllock");
  EXPECT_LE(futex_wakes.load(), std::uint64_t{count} * (wakes_ahead ? 2 : 1));
}

// One sleeper among spinners: only the sleeper costs a wake.
TEST_P(Handover, mixed_queue) {
  if (!spins_first() || traits().category == lockwright::category::competitive_succession) {
    GTEST_SKIP() << "does not spin for a time that can be set, or does not hand over";
  }
  lock_type lock;
  lock.lock();
  const test_threads first = queue(lock, 1, polling);
  const test_threads second = queue(lock, 1, asleep);
  const test_threads third = queue(lock, 1, polling);
  lock.unlock();
  for (const test_threads* all : {&first, &second, &third}) {
    all->front()->join();
  }
  EXPECT_FALSE(first.front()->has_slept());
  EXPECT_FALSE(third.front()->has_slept());
  // A passive thread may wake up by a timeout.
  EXPECT_GE(futex_wakes.load(), traits().category == lockwright::category::load_control ? 0u : 1u);
  EXPECT_LE(futex_wakes.load(), 1u);
}

// Parking races with the grant, repeatedly: no wake-up is lost, and the number of wakes is exactly
// the number of acquisitions in which a thread had decided to sleep.
TEST_P(Handover, parking_races_with_the_grant) {
  if (!parks_itself()) {
    GTEST_SKIP() << "never sleeps";
  }
  bound = 0;
  lock_type lock;
  long counter = 0;
  std::atomic<std::uint64_t> parked{0};
  constexpr int threads = 3;
  constexpr int rounds = 20'000;
  const budget time{1'000ms};
  std::atomic<long> entered{0};
  in_parallel(threads, [&](int) {
    operation_counts counts;
    my_counts = &counts;
    for (int i = 0; i < rounds && !time.spent(); ++i) {
      const std::uint64_t before = counts.sleeps.load();
      lock.lock();
      parked += counts.sleeps.load() != before ? 1 : 0;
      ++counter;
      lock.unlock();
      ++entered;
    }
    my_counts = nullptr;
  });
  EXPECT_EQ(counter, entered.load());
  if (hands_off()) {
    EXPECT_EQ(futex_wakes.load(), parked.load());
  }
}

}  // namespace
