// The cost of a handover in futex calls, for the algorithms whose waiters sleep.
#include "observed.hpp"
#include "rows.hpp"

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;

template <class Row>
class Handover : public lock_test {
 protected:
  using lock_type = typename Row::template lock<observed>;
  static constexpr auto policy = lock_type::traits.waiting;
  static constexpr bool parks_itself =
      lock_type::traits.parks() && lock_type::traits.category != lockwright::category::library;
  /// For a time that a tunable sets.
  static constexpr bool spins_first = [] {
    if constexpr (requires { lock_type::tunables; }) {
      for (const lockwright::tunable* t : lock_type::tunables) {
        if (std::string_view{t->name}.starts_with("spin-")) {
          return policy == lockwright::waiting::spin_then_park;
        }
      }
    }
    return false;
  }();
  static constexpr bool hands_off =
      lock_type::traits.category == lockwright::category::direct_handoff ||
      lock_type::traits.category == lockwright::category::hierarchical;
  static constexpr bool may_be_overtaken =
      lock_type::traits.category == lockwright::category::competitive_succession;
  static constexpr bool load_control =
      lock_type::traits.category == lockwright::category::load_control;

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
TYPED_TEST_SUITE(Handover, all_rows, row_name);

TYPED_TEST(Handover, uncontended_use_makes_no_futex_call) {
  typename TestFixture::lock_type lock;
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

TYPED_TEST(Handover, to_a_spinner_costs_no_futex_call) {
  if (!TestFixture::spins_first) {
    GTEST_SKIP() << "does not spin for a time that can be set";
  }
  for (int round = 0; round < 5; ++round) {
    typename TestFixture::lock_type lock;
    lock.lock();
    test_threads waiters = this->queue(lock, 3, TestFixture::polling);
    lock.unlock();
    waiters.clear();
  }
  EXPECT_EQ(futex_waits.load(), 0u);
  EXPECT_EQ(futex_wakes.load(), 0u);
}

TYPED_TEST(Handover, to_a_sleeper_costs_one_wake) {
  if (!TestFixture::parks_itself) {
    GTEST_SKIP() << "never sleeps";
  }
  for (int round = 0; round < 10; ++round) {
    typename TestFixture::lock_type lock;
    lock.lock();
    test_threads waiters = this->queue(lock, 1, TestFixture::asleep);
    futex_wakes = 0;
    lock.unlock();
    EXPECT_GE(futex_wakes.load(), 1u);
    waiters.clear();
    // A lock that records only "a thread may sleep" wakes once more, when the woken thread unlocks.
    EXPECT_LE(futex_wakes.load(), TestFixture::hands_off ? 1u : 2u);
  }
}

TYPED_TEST(Handover, along_a_queue_of_sleepers_costs_one_wake_each) {
  if (!TestFixture::parks_itself || !TestFixture::hands_off) {
    GTEST_SKIP() << "does not hand over to sleepers";
  }
  constexpr int count = 10;
  typename TestFixture::lock_type lock;
  lock.lock();
  test_threads waiters = this->queue(lock, count, TestFixture::asleep);
  EXPECT_EQ(futex_wakes.load(), 0u);
  lock.unlock();
  waiters.clear();
  EXPECT_EQ(futex_wakes.load(), std::uint64_t{count});
}

// One sleeper among spinners: only the sleeper costs a wake.
TYPED_TEST(Handover, mixed_queue) {
  if (!TestFixture::spins_first || TestFixture::may_be_overtaken) {
    GTEST_SKIP() << "does not spin for a time that can be set, or does not hand over";
  }
  typename TestFixture::lock_type lock;
  lock.lock();
  const test_threads first = this->queue(lock, 1, TestFixture::polling);
  const test_threads second = this->queue(lock, 1, TestFixture::asleep);
  const test_threads third = this->queue(lock, 1, TestFixture::polling);
  lock.unlock();
  for (const test_threads* all : {&first, &second, &third}) {
    all->front()->join();
  }
  EXPECT_FALSE(first.front()->has_slept());
  EXPECT_FALSE(third.front()->has_slept());
  // A passive thread may wake up by a timeout.
  EXPECT_GE(futex_wakes.load(), TestFixture::load_control ? 0u : 1u);
  EXPECT_LE(futex_wakes.load(), 1u);
}

// Parking races with the grant, repeatedly: no wake-up is lost, and the number of wakes is exactly
// the number of acquisitions in which a thread had decided to sleep.
TYPED_TEST(Handover, parking_races_with_the_grant) {
  if (!TestFixture::parks_itself) {
    GTEST_SKIP() << "never sleeps";
  }
  bound = 0;
  typename TestFixture::lock_type lock;
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
  if (TestFixture::hands_off) {
    EXPECT_EQ(futex_wakes.load(), parked.load());
  }
}

}  // namespace
