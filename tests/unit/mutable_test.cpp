// The window of the mutable lock: which waiters are awake, and how often a sleeper comes too late.
#include <algorithm>

#include "observed.hpp"

#include <gtest/gtest.h>

#include "lockwright/lock/mutable.hpp"

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;
using lockwright::doubling_oracle;
using lockwright::mutable_window;

/// Room for windows that a small machine would not have.
struct roomy : observed {
  static std::uint32_t cpus() { return 1'000; }
};

struct trace {
  std::vector<std::uint32_t> windows;
  std::uint64_t late = 0;
};

/// Every acquisition through a window of at most `hard` is a late wake-up, and none through a
/// wider.
trace play(std::uint32_t hard, int acquisitions) {
  doubling_oracle<observed> oracle;
  trace seen;
  std::int64_t window = 1;
  for (int i = 0; i < acquisitions; ++i) {
    const bool late = window <= hard;
    seen.late += late ? 1 : 0;
    window += oracle.advise(!late, late, static_cast<std::uint32_t>(window));
    window = std::max<std::int64_t>(window, 1);
    seen.windows.push_back(static_cast<std::uint32_t>(window));
  }
  return seen;
}

TEST(DoublingOracle, doubles_at_a_late_wake_up_and_takes_one_off_after_ten_others) {
  const trace seen = play(2, 200);
  // 1 and 2 are late; then 4 and 3 last for ten acquisitions each, 2 is late again.
  EXPECT_EQ(seen.windows[0], 2u);
  EXPECT_EQ(seen.windows[1], 4u);
  for (std::size_t i = 1; i < 11; ++i) {
    EXPECT_EQ(seen.windows[i], 4u) << i;
    EXPECT_EQ(seen.windows[i + 10], 3u) << i;
  }
  EXPECT_EQ(seen.windows[21], 2u);
  EXPECT_EQ(seen.windows[22], 4u);
}

TEST(DoublingOracle, bounds_the_late_wake_ups) {
  constexpr std::uint64_t k = 10;
  for (const std::uint64_t hard : {1u, 2u, 5u, 16u}) {
    constexpr int acquisitions = 100'000;
    // One of K * V + 1, and those of the first doublings.
    EXPECT_LE(play(static_cast<std::uint32_t>(hard), acquisitions).late,
              acquisitions / (k * hard + 1) + 6);
    EXPECT_GE(play(static_cast<std::uint32_t>(hard), acquisitions).late, 1u);
  }
}

/// Steps that a test has laid out, one for each acquisition; 0 after the last.
std::vector<std::int64_t> script;
std::size_t consulted = 0;

template <class Env>
struct scripted {
  static constexpr lockwright::tunable_list<0> tunables{};
  std::int64_t advise(bool, bool, std::uint32_t) {
    const std::size_t i = consulted++;
    return i < script.size() ? script[i] : 0;
  }
};

class Window : public ::testing::Test {
 protected:
  using lock_type = mutable_window<roomy, scripted>;

  void SetUp() override {
    script.clear();
    consulted = 0;
    futex_waits = futex_wakes = 0;
  }

  /// Waiters that stay inside until they are let go, one after the other.
  test_threads sleepers(lock_type& lock, int count) {
    return waiters(lock, count, &test_thread::wait_until_asleep);
  }

  test_threads waiters(lock_type& lock, int count, void (test_thread::*arrived)() const) {
    test_threads all;
    for (int i = 0; i < count; ++i) {
      all.push_back(std::make_unique<test_thread>([&lock, this] {
        lock.lock();
        ++inside_;
        while (gate_.load() == 0) {
          std::this_thread::sleep_for(20us);
        }
        --gate_;
        lock.unlock();
        ++left_;
      }));
      (*all.back().*arrived)();
    }
    return all;
  }

  void await_inside(int count) const {
    while (inside_.load() < count) {
      std::this_thread::sleep_for(20us);
    }
  }
  /// Returns when it has unlocked, and so made its wakes.
  void let_one_go() {
    const int before = left_.load();
    ++gate_;
    while (left_.load() == before) {
      std::this_thread::sleep_for(20us);
    }
  }

  std::atomic<int> inside_{0};
  std::atomic<int> gate_{0};
  std::atomic<int> left_{0};
};

// A window of one is the holder's: all others sleep, and each unlock wakes one.
TEST_F(Window, of_one_lets_nobody_poll) {
  lock_type lock;
  lock.lock();
  test_threads all = sleepers(lock, 5);
  EXPECT_EQ(futex_wakes.load(), 0u);
  lock.unlock();
  for (int i = 1; i <= 5; ++i) {
    await_inside(i);
    EXPECT_EQ(futex_wakes.load(), static_cast<std::uint64_t>(i)) << "awake: more than the holder";
    let_one_go();
  }
  all.clear();
  EXPECT_EQ(futex_wakes.load(), 5u);
}

TEST_F(Window, that_grows_wakes_those_that_are_inside_now) {
  lock_type lock;
  lock.lock();
  test_threads all = sleepers(lock, 6);
  const std::uint64_t slept = futex_waits.load();
  script.assign(2, 0);
  script[1] = +2;  // from the first woken one
  lock.unlock();
  await_inside(1);
  EXPECT_EQ(futex_wakes.load(), 1u);  // one place, one sleeper
  let_one_go();                       // two for the window and one for its own place, at once
  for (int i = 2; i <= 4; ++i) {
    await_inside(i);
    EXPECT_EQ(futex_wakes.load(), static_cast<std::uint64_t>(i));
    let_one_go();  // one for its place, as long as there are sleepers
  }
  await_inside(5);
  EXPECT_EQ(futex_wakes.load(), 4u);
  let_one_go();
  await_inside(6);
  let_one_go();
  all.clear();
  EXPECT_EQ(futex_wakes.load(), 4u);
  EXPECT_EQ(futex_waits.load(), slept) << "somebody was woken for nothing";
}

TEST_F(Window, that_shrinks_waits_until_those_outside_have_left) {
  lock_type lock;
  script = {+2};
  lock.lock();
  lock.unlock();
  lock.lock();  // in a window of three
  test_threads all = waiters(lock, 2, &test_thread::wait_until_polling);
  EXPECT_EQ(futex_waits.load(), 0u) << "there was room for two to poll";
  for (auto& one : sleepers(lock, 3)) {
    all.push_back(std::move(one));
  }
  script.assign(3, 0);
  script[2] = -2;  // from the next one
  EXPECT_EQ(futex_wakes.load(), 0u);
  lock.unlock();
  // One sleeper takes the place of the first; then the window is one, and two of the three that
  // are awake leave without waking any thread.
  constexpr std::uint64_t wakes[] = {1, 1, 1, 2, 3};
  for (int i = 1; i <= 5; ++i) {
    await_inside(i);
    EXPECT_EQ(futex_wakes.load(), wakes[i - 1]) << i;
    let_one_go();
  }
  all.clear();
  EXPECT_EQ(futex_wakes.load(), 3u);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// However wild the advice, at least one and at most as many as may are awake.
TEST_F(Window, keeps_between_its_bounds) {
  for (const std::int64_t step : {-1'000'000, -7, -1, +1, +7, +1'000'000}) {
    lock_type lock;
    consulted = 0;
    script.assign(100, step);
    std::atomic<long> entered{0};
    in_parallel(4, [&](int) {
      for (int i = 0; i < 100; ++i) {
        lock.lock();
        ++entered;
        lock.unlock();
      }
    });
    EXPECT_EQ(entered.load(), 400);
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  }
}

/// The paper's oracle, with its business in view.
struct {
  std::uint64_t acquisitions = 0;
  std::uint64_t late = 0;
} tally;

template <class Env>
struct watched : doubling_oracle<Env> {
  std::int64_t advise(bool spun, bool slept, std::uint32_t window) {
    ++tally.acquisitions;
    tally.late += slept && !spun ? 1 : 0;
    return doubling_oracle<Env>::advise(spun, slept, window);
  }
};

/// Native waiting, in a machine with room for any window.
struct native_and_roomy : lockwright::native {
  static std::uint32_t cpus() { return 1'000; }
};

// Threads that always come back: the window grows until no thread has to be woken in time, or until
// few enough are late.
TEST(MutableLock, late_wake_ups_are_rare_in_the_long_run) {
  constexpr std::uint64_t k = 10;
  mutable_window<native_and_roomy, watched> lock;
  tally = {};
  long counter = 0;
  in_parallel(4, [&](int) {
    for (int i = 0; i < 20'000; ++i) {
      lock.lock();
      ++counter;
      lock.unlock();
    }
  });
  EXPECT_EQ(counter, 80'000);
  EXPECT_EQ(tally.acquisitions, 80'000u);
  EXPECT_LE(tally.late, tally.acquisitions / (k + 1));
}

}  // namespace
