// The algorithms whose waiters can give up at a deadline.
#include <random>

#include "observed.hpp"
#include "rows.hpp"

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;

constexpr std::uint64_t millisecond = 1'000'000;
constexpr std::uint64_t long_time = 600'000 * millisecond;

[[maybe_unused]] std::uint64_t after(std::uint64_t nanoseconds) {
  return observed::now() + nanoseconds;
}

class Timed : public row_test {
 protected:
  void SetUp() override {
    row_test::SetUp();
    bound = 100'000;
    declared_nodes = nodes_of_this_run();
  }
};
LOCKWRIGHT_EACH_ROW(Timed);

// The tests below use another environment than the registry, which must give the same traits.
TEST_P(Timed, is_timed_in_the_library_too) { EXPECT_EQ(row().timed_in_library, row().timed); }

TEST_P(Timed, takes_a_free_lock_whatever_the_time) {
  if (!row().timed) {
    GTEST_SKIP() << "has no waiters that give up";
  }
  lock_type lock;
  for (const std::uint64_t deadline : {std::uint64_t{0}, after(0), after(long_time)}) {
    ASSERT_TRUE(lock.try_lock_until(deadline));
    EXPECT_FALSE(lock.try_lock());
    lock.unlock();
  }
}

TEST_P(Timed, gives_up_while_the_lock_is_held) {
  if (!row().timed) {
    GTEST_SKIP() << "has no waiters that give up";
  }
  for (const std::uint64_t spinning : {std::uint64_t{0}, 20'000 * millisecond}) {
    bound = spinning;
    lock_type lock;
    lock.lock();
    test_thread{[&] {
      EXPECT_FALSE(lock.try_lock_until(0));
      // Later than the end of the polls of those that poll a number of times.
      const std::uint64_t deadline = after(50 * millisecond);
      EXPECT_FALSE(lock.try_lock_until(deadline));
      EXPECT_GE(observed::now(), deadline);
    }}.join();
    lock.unlock();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  }
}

TEST_P(Timed, gets_a_lock_that_is_released_in_time) {
  if (!row().timed) {
    GTEST_SKIP() << "has no waiters that give up";
  }
  for (const std::uint64_t spinning : {std::uint64_t{0}, 20'000 * millisecond}) {
    bound = spinning;
    lock_type lock;
    lock.lock();
    test_threads waiters;
    std::atomic<int> admitted{0};
    for (int i = 0; i < 3; ++i) {
      waiters.push_back(std::make_unique<test_thread>([&] {
        ASSERT_TRUE(lock.try_lock_until(after(long_time)));
        ++admitted;
        lock.unlock();
      }));
      // Where nodes race for the lock, the first waiter of a node never sleeps.
      if (traits().parks() && row().fair_between_nodes && spinning == 0) {
        waiters.back()->wait_until_asleep();
      } else {
        waiters.back()->wait_until_polling();
      }
    }
    EXPECT_EQ(admitted.load(), 0);
    lock.unlock();
    waiters.clear();
    EXPECT_EQ(admitted.load(), 3);
  }
}

// Waiters before and behind those that give up still acquire, in order if the lock is FIFO.
TEST_P(Timed, giving_up_leaves_the_queue_intact) {
  if (!row().timed) {
    GTEST_SKIP() << "has no waiters that give up";
  }
  for (const std::uint64_t spinning : {std::uint64_t{0}, 20'000 * millisecond}) {
    bound = spinning;
    lock_type lock;
    std::atomic<int> gave_up{0};
    lock.lock();
    waiting_line stay{lock};
    test_threads leave;
    // All arrive before the deadline.
    stopped_clock = observed::now();
    const std::uint64_t deadline = after(5 * millisecond);
    auto impatient = [&] {
      leave.push_back(std::make_unique<test_thread>([&] {
        EXPECT_FALSE(lock.try_lock_until(deadline));
        ++gave_up;
      }));
      leave.back()->wait_until_polling();
    };
    impatient();
    for (std::uint32_t i = 0; i < 4; ++i) {
      stay.add(next_node(), i);
      impatient();
      if (i % 2 == 0) {
        impatient();
      }
    }
    EXPECT_EQ(gave_up.load(), 0);
    stopped_clock = deadline;
    leave.clear();
    stopped_clock = 0;
    EXPECT_EQ(gave_up.load(), 7);
    EXPECT_TRUE(stay.admitted().empty());
    const std::vector<std::uint32_t>& order = stay.admit();
    ASSERT_EQ(order.size(), 4u);
    if (traits().fifo) {
      EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    }
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  }
}

template <class L>
void race(L& lock, int threads, std::chrono::milliseconds length) {
  long counter = 0;
  bool inside = false;
  std::atomic<long> entered{0};
  std::atomic<int> overlaps{0};
  const budget time{length};
  in_parallel(threads, [&](int i) {
    std::minstd_rand random{static_cast<unsigned>(i) + 1};
    long sections = 0;
    do {
      if (i == 0) {
        lock.lock();
      } else if (!lock.try_lock_until(after(random() % 200'000))) {
        continue;
      }
      overlaps += inside ? 1 : 0;
      inside = true;
      ++counter;
      if (random() % 8 == 0) {
        std::this_thread::sleep_for(50us);
      }
      inside = false;
      lock.unlock();
      ++sections;
    } while (!time.spent());
    entered += sections;
  });
  EXPECT_EQ(overlaps.load(), 0);
  EXPECT_EQ(counter, entered.load());
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST_P(Timed, deadlines_race_with_the_release) {
  if (!row().timed) {
    GTEST_SKIP() << "has no waiters that give up";
  }
  for (const std::uint64_t spinning : {std::uint64_t{0}, std::uint64_t{50'000}}) {
    bound = spinning;
    {
      lock_type lock;
      race(lock, 6, 100ms);
    }
    perturbed_lock lock;
    race(lock, 4, 100ms);
  }
}

}  // namespace
