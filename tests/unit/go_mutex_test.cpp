// The starvation mode of go-mutex: what starts it, what an unlock does in it, and what ends it.
#include <gtest/gtest.h>

#include <string_view>

#include "lockwright/lock/go_mutex.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;

constexpr std::uint64_t threshold = 1'000'000;  // nanoseconds

std::atomic<std::uint64_t> clock_now{0};
/// How many woken threads may continue: the test controls what happens between a wake and that.
std::atomic<int> passes{0};

struct staged : observed {
  static std::uint64_t now() { return clock_now; }

  static void wait(atomic<std::uint32_t>& word, std::uint32_t expected) {
    note_sleep();
    while (word.load() == expected) {
      native::wait(word, expected);
    }
    testing_locks::wait_until([] {
      int left = passes;
      return left != 0 && passes.compare_exchange_strong(left, left - 1);
    });
  }

  template <const lockwright::tunable& What>
  static std::uint64_t value() {
    return std::string_view{What.name} == "spins" ? 0 : observed::value<What>();
  }
};

using lock_type = lockwright::go_mutex<staged>;

class GoMutex : public lock_test {
 protected:
  using holding = holder<lock_type>;

  void SetUp() override {
    lock_test::SetUp();
    passes = 0;
    clock_now = 0;
  }
  void TearDown() override {
    EXPECT_EQ(passes.load(), 0) << "fewer threads were woken than expected";
    lock_test::TearDown();
  }

  /// Starts a thread that locks; returns it when it sleeps.
  std::unique_ptr<holding> sleeper() {
    auto thread = std::make_unique<holding>(lock);
    wait_until_slept(++sleeps);
    return thread;
  }

  static void wait_until_slept(std::uint64_t times) {
    wait_until([times] { return futex_waits.load() == times; });
  }

  /// Called by the holder: wakes the first sleeper, acquires the lock before it, and returns when
  /// it sleeps again.
  void overtake() {
    lock.unlock();
    ASSERT_TRUE(lock.try_lock()) << "an arriving thread may overtake a woken first";
    ++passes;
    wait_until_slept(++sleeps);
  }

  lock_type lock;
  std::uint64_t sleeps = 0;
};

TEST_F(GoMutex, a_waiter_below_the_threshold_is_overtaken_again) {
  lock.lock();
  const auto first = sleeper();
  clock_now = threshold;
  for (int i = 0; i < 3; ++i) {
    overtake();
    EXPECT_FALSE(first->in());
  }
  ++passes;
  lock.unlock();
  first->wait_until_inside();
}

TEST_F(GoMutex, a_waiter_above_the_threshold_is_handed_the_lock) {
  lock.lock();
  const auto first = sleeper();
  clock_now = threshold + 1;
  overtake();  // The sleeper has lost the lock once more, and requests a handover.
  lock.unlock();
  EXPECT_FALSE(lock.try_lock()) << "it is handed to the waiter, which is waking up";
  EXPECT_FALSE(first->in());
  ++passes;
  first->wait_until_inside();
  EXPECT_FALSE(lock.try_lock());
}

TEST_F(GoMutex, starvation_ends_with_its_last_waiter) {
  lock.lock();
  auto first = sleeper();
  clock_now = threshold + 1;
  overtake();
  ++passes;
  lock.unlock();
  first->wait_until_inside();
  const auto next = sleeper();
  first->leave();
  EXPECT_TRUE(lock.try_lock()) << "an arriving thread may overtake again";
  lock.unlock();
  ++passes;
  next->wait_until_inside();
}

// A thread that arrives while the lock is handed over waits behind the others.
TEST_F(GoMutex, starvation_continues_while_waiters_are_above_the_threshold) {
  lock.lock();
  auto first = sleeper();
  auto second = sleeper();
  clock_now = threshold + 1;
  overtake();
  lock.unlock();
  auto late = sleeper();
  EXPECT_FALSE(lock.try_lock());
  ++passes;
  first->wait_until_inside();
  EXPECT_FALSE(second->in());

  first->leave();
  EXPECT_FALSE(lock.try_lock()) << "it is handed to the second, which has waited as long";
  ++passes;
  second->wait_until_inside();
  EXPECT_FALSE(late->in());

  // The last waiter ends the mode, however long it has waited.
  second->leave();
  EXPECT_FALSE(lock.try_lock());
  ++passes;
  late->wait_until_inside();
}

TEST_F(GoMutex, starvation_ends_with_a_waiter_below_the_threshold) {
  lock.lock();
  auto first = sleeper();
  clock_now = threshold + 1;
  overtake();
  auto second = sleeper();
  auto third = sleeper();
  ++passes;
  lock.unlock();
  first->wait_until_inside();

  first->leave();
  EXPECT_FALSE(lock.try_lock()) << "handed over";
  ++passes;
  second->wait_until_inside();

  second->leave();
  EXPECT_TRUE(lock.try_lock()) << "an arriving thread may overtake the woken first";
  lock.unlock();
  ++passes;
  third->wait_until_inside();
}

// A waiter that loses the race after a wake sleeps ahead of the others.
TEST_F(GoMutex, an_overtaken_waiter_stays_the_first) {
  lock.lock();
  const auto first = sleeper();
  const auto second = sleeper();
  for (int i = 0; i < 3; ++i) {
    overtake();
  }
  ++passes;
  lock.unlock();
  first->wait_until_inside();
  EXPECT_FALSE(second->in());
  ++passes;
  first->leave();
  second->wait_until_inside();
}

}  // namespace
