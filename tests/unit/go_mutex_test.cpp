// The starvation mode of go-mutex: what starts it, what an unlock does in it, and what ends it.
#include <gtest/gtest.h>

#include <string_view>

#include "lockwright/lock/go_mutex.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;

constexpr std::uint64_t threshold = 1'000'000;  // nanoseconds

std::atomic<std::uint64_t> clock_now{0};
/// How many threads that have been woken may go on. What happens between the wake and that is the
/// test's to say.
std::atomic<int> passes{0};

struct staged : observed {
  static std::uint64_t now() { return clock_now; }

  static void wait(atomic<std::uint32_t>& word, std::uint32_t expected) {
    note_sleep();
    while (word.load() == expected) {
      native::wait(word, expected);
    }
    for (int left = passes; left == 0 || !passes.compare_exchange_strong(left, left - 1);
         left = passes) {
      std::this_thread::sleep_for(std::chrono::microseconds{20});
    }
  }

  template <const lockwright::tunable& What>
  static std::uint64_t value() {
    return std::string_view{What.name} == "spins" ? 0 : observed::value<What>();
  }
};

using lock_type = lockwright::go_mutex<staged>;

class GoMutex : public ::testing::Test {
 protected:
  /// A thread that locks, and unlocks on request.
  class visitor {
   public:
    explicit visitor(lock_type& lock)
        : thread_{[this, &lock] {
            lock.lock();
            in_ = true;
            while (!leave_) {
              std::this_thread::yield();
            }
            lock.unlock();
          }} {}
    ~visitor() { leave(); }
    visitor(const visitor&) = delete;
    visitor& operator=(const visitor&) = delete;

    void leave() {
      leave_ = true;
      thread_.join();
    }
    void wait_until_in() const {
      while (!in_) {
        std::this_thread::yield();
      }
    }
    [[nodiscard]] bool in() const { return in_; }

   private:
    std::atomic<bool> leave_{false};
    std::atomic<bool> in_{false};
    test_thread thread_;
  };

  void SetUp() override {
    nodes_out = 0;
    passes = 0;
    clock_now = 0;
    futex_waits = 0;
  }
  void TearDown() override {
    EXPECT_EQ(passes.load(), 0) << "fewer threads were woken than the test says";
    EXPECT_EQ(nodes_out.load(), 0) << "queue nodes were lost";
  }

  /// Another thread, which sleeps: since now, by the clock.
  std::unique_ptr<visitor> sleeper() {
    auto made = std::make_unique<visitor>(lock);
    wait_until_slept(++sleeps);
    return made;
  }

  static void wait_until_slept(std::uint64_t times) {
    while (futex_waits.load() != times) {
      std::this_thread::yield();
    }
  }

  /// By the holder: lets the first sleeper be woken, takes the lock before it, and has it sleep
  /// again.
  void overtake() {
    lock.unlock();
    ASSERT_TRUE(lock.try_lock()) << "an arriving thread may overtake a woken one";
    ++passes;
    wait_until_slept(++sleeps);
  }

  lock_type lock;
  std::uint64_t sleeps = 0;
};

TEST_F(GoMutex, one_that_has_not_waited_for_long_is_overtaken_again) {
  lock.lock();
  const auto one = sleeper();
  clock_now = threshold;
  for (int i = 0; i < 3; ++i) {
    overtake();
    EXPECT_FALSE(one->in());
  }
  ++passes;
  lock.unlock();
  one->wait_until_in();
}

TEST_F(GoMutex, one_that_has_waited_for_long_is_handed_the_lock) {
  lock.lock();
  const auto one = sleeper();
  clock_now = threshold + 1;
  overtake();  // It asks for the lock to be handed over when it loses it once more.
  lock.unlock();
  EXPECT_FALSE(lock.try_lock()) << "it belongs to the waiter, which is waking up";
  EXPECT_FALSE(one->in());
  ++passes;
  one->wait_until_in();
  EXPECT_FALSE(lock.try_lock());
}

TEST_F(GoMutex, starvation_ends_with_its_last_waiter) {
  lock.lock();
  auto one = sleeper();
  clock_now = threshold + 1;
  overtake();
  ++passes;
  lock.unlock();
  one->wait_until_in();
  const auto next = sleeper();
  one->leave();
  EXPECT_TRUE(lock.try_lock()) << "an arriving thread may overtake again";
  lock.unlock();
  ++passes;
  next->wait_until_in();
}

// A thread that comes while the lock is handed over waits behind the others.
TEST_F(GoMutex, starvation_goes_on_while_its_waiters_have_waited_for_long) {
  lock.lock();
  auto one = sleeper();
  auto two = sleeper();
  clock_now = threshold + 1;
  overtake();
  lock.unlock();
  auto late = sleeper();
  EXPECT_FALSE(lock.try_lock());
  ++passes;
  one->wait_until_in();
  EXPECT_FALSE(two->in());

  one->leave();
  EXPECT_FALSE(lock.try_lock()) << "it is handed to the second, which has waited for as long";
  ++passes;
  two->wait_until_in();
  EXPECT_FALSE(late->in());

  // The last one ends it, whatever its wait.
  two->leave();
  EXPECT_FALSE(lock.try_lock());
  ++passes;
  late->wait_until_in();
}

TEST_F(GoMutex, starvation_ends_with_one_that_has_not_waited_for_long) {
  lock.lock();
  auto one = sleeper();
  clock_now = threshold + 1;
  overtake();
  auto young = sleeper();
  auto younger = sleeper();
  ++passes;
  lock.unlock();
  one->wait_until_in();

  one->leave();
  EXPECT_FALSE(lock.try_lock()) << "handed over";
  ++passes;
  young->wait_until_in();

  young->leave();
  EXPECT_TRUE(lock.try_lock()) << "an arriving thread may overtake the woken one";
  lock.unlock();
  ++passes;
  younger->wait_until_in();
}

// A waiter that loses the race after a wake sleeps ahead of the others.
TEST_F(GoMutex, one_that_is_overtaken_stays_the_first) {
  lock.lock();
  const auto one = sleeper();
  const auto two = sleeper();
  for (int i = 0; i < 3; ++i) {
    overtake();
  }
  ++passes;
  lock.unlock();
  one->wait_until_in();
  EXPECT_FALSE(two->in());
  ++passes;
  one->leave();
  two->wait_until_in();
}

}  // namespace
