// The window of the mutable lock: which waiters are awake, and how often a sleeper wakes too late.
#include <algorithm>

#include "observed.hpp"

#include <gtest/gtest.h>

#include "lockwright/lock/mutable.hpp"

namespace {

using namespace testing_locks;
using lockwright::doubling_oracle;
using lockwright::mutable_window;

/// An environment with more processors than any window needs.
struct large_machine : observed {
  static std::uint32_t cpus() { return 1'000; }
};

struct trace {
  std::vector<std::uint32_t> windows;
  std::uint64_t late = 0;
};

/// Runs the oracle on acquisitions that are late wake-ups exactly if the window is at most
/// `threshold`.
trace simulate(std::uint32_t threshold, int acquisitions) {
  doubling_oracle<observed> oracle;
  trace result;
  std::int64_t window = 1;
  for (int i = 0; i < acquisitions; ++i) {
    const bool late = window <= threshold;
    result.late += late ? 1 : 0;
    window += oracle.advise(!late, late, static_cast<std::uint32_t>(window));
    window = std::max<std::int64_t>(window, 1);
    result.windows.push_back(static_cast<std::uint32_t>(window));
  }
  return result;
}

TEST(DoublingOracle, doubles_at_a_late_wake_up_and_subtracts_one_after_ten_others) {
  const trace result = simulate(2, 200);
  // 1 and 2 are late; then 4 and 3 last for ten acquisitions each, 2 is late again.
  EXPECT_EQ(result.windows[0], 2u);
  EXPECT_EQ(result.windows[1], 4u);
  for (std::size_t i = 1; i < 11; ++i) {
    EXPECT_EQ(result.windows[i], 4u) << i;
    EXPECT_EQ(result.windows[i + 10], 3u) << i;
  }
  EXPECT_EQ(result.windows[21], 2u);
  EXPECT_EQ(result.windows[22], 4u);
}

TEST(DoublingOracle, bounds_the_late_wake_ups) {
  constexpr std::uint64_t k = 10;
  for (const std::uint64_t threshold : {1u, 2u, 5u, 16u}) {
    constexpr int acquisitions = 100'000;
    // One in K * V + 1, and those of the first doublings.
    EXPECT_LE(simulate(static_cast<std::uint32_t>(threshold), acquisitions).late,
              acquisitions / (k * threshold + 1) + 6);
    EXPECT_GE(simulate(static_cast<std::uint32_t>(threshold), acquisitions).late, 1u);
  }
}

/// Changes of the window that a test sets, one for each acquisition; 0 after the last.
std::vector<std::int64_t> script;
std::size_t calls = 0;

template <class Env>
struct scripted {
  static constexpr lockwright::tunable_list<0> tunables{};
  std::int64_t advise(bool, bool, std::uint32_t) {
    const std::size_t i = calls++;
    return i < script.size() ? script[i] : 0;
  }
};

class Window : public lock_test {
 protected:
  using lock_type = mutable_window<large_machine, scripted>;

  void SetUp() override {
    lock_test::SetUp();
    script.clear();
    calls = 0;
  }

  /// Starts waiters, each of which holds the lock until release_one().
  test_threads sleepers(lock_type& lock, int count) {
    return waiters(lock, count, &test_thread::wait_until_asleep);
  }

  test_threads waiters(lock_type& lock, int count, void (test_thread::*arrived)() const) {
    test_threads all;
    for (int i = 0; i < count; ++i) {
      all.push_back(std::make_unique<test_thread>([&lock, this] {
        lock.lock();
        ++inside_;
        wait_until([this] { return gate_.load() != 0; });
        --gate_;
        lock.unlock();
        ++left_;
      }));
      (*all.back().*arrived)();
    }
    return all;
  }

  void await_inside(int count) const {
    wait_until([&] { return inside_.load() >= count; });
  }
  /// Returns when the holder has unlocked, and so made its wakes.
  void release_one() {
    const int before = left_.load();
    ++gate_;
    wait_until([&] { return left_.load() != before; });
  }

  std::atomic<int> inside_{0};
  std::atomic<int> gate_{0};
  std::atomic<int> left_{0};
};

// A window of one is the holder's: all others sleep, and each unlock wakes one.
TEST_F(Window, of_one_admits_no_polling_thread) {
  lock_type lock;
  lock.lock();
  test_threads all = sleepers(lock, 5);
  EXPECT_EQ(futex_wakes.load(), 0u);
  lock.unlock();
  for (int i = 1; i <= 5; ++i) {
    await_inside(i);
    EXPECT_EQ(futex_wakes.load(), static_cast<std::uint64_t>(i)) << "awake: more than the holder";
    release_one();
  }
  all.clear();
  EXPECT_EQ(futex_wakes.load(), 5u);
}

TEST_F(Window, that_grows_wakes_sleepers) {
  lock_type lock;
  lock.lock();
  test_threads all = sleepers(lock, 6);
  const std::uint64_t slept = futex_waits.load();
  script.assign(2, 0);
  script[1] = +2;  // by the first woken thread
  lock.unlock();
  await_inside(1);
  EXPECT_EQ(futex_wakes.load(), 1u);  // one slot, one sleeper
  release_one();                      // two for the window and one for its slot, at once
  for (int i = 2; i <= 4; ++i) {
    await_inside(i);
    EXPECT_EQ(futex_wakes.load(), static_cast<std::uint64_t>(i));
    release_one();  // one for its slot, as long as there are sleepers
  }
  await_inside(5);
  EXPECT_EQ(futex_wakes.load(), 4u);
  release_one();
  await_inside(6);
  release_one();
  all.clear();
  EXPECT_EQ(futex_wakes.load(), 4u);
  EXPECT_EQ(futex_waits.load(), slept) << "a thread was woken for nothing";
}

TEST_F(Window, that_shrinks_waits_until_excess_threads_have_left) {
  lock_type lock;
  script = {+2};
  lock.lock();
  lock.unlock();
  lock.lock();  // in a window of three
  test_threads all = waiters(lock, 2, &test_thread::wait_until_polling);
  EXPECT_EQ(futex_waits.load(), 0u) << "the window admits two polling threads";
  for (auto& sleeper : sleepers(lock, 3)) {
    all.push_back(std::move(sleeper));
  }
  script.assign(3, 0);
  script[2] = -2;  // by the next thread
  EXPECT_EQ(futex_wakes.load(), 0u);
  lock.unlock();
  // One sleeper takes the slot of the first; then the window is one, and two of the three threads
  // that are awake leave without waking any.
  constexpr std::uint64_t wakes[] = {1, 1, 1, 2, 3};
  for (int i = 1; i <= 5; ++i) {
    await_inside(i);
    EXPECT_EQ(futex_wakes.load(), wakes[i - 1]) << i;
    release_one();
  }
  all.clear();
  EXPECT_EQ(futex_wakes.load(), 3u);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// Whatever the oracle returns, at least one thread and at most the bound are awake.
TEST_F(Window, stays_between_its_bounds) {
  for (const std::int64_t step : {-1'000'000, -7, -1, +1, +7, +1'000'000}) {
    lock_type lock;
    calls = 0;
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

/// Counts by the paper's oracle.
struct {
  std::uint64_t acquisitions = 0;
  std::uint64_t late = 0;
} counts;

template <class Env>
struct counted : doubling_oracle<Env> {
  std::int64_t advise(bool spun, bool slept, std::uint32_t window) {
    ++counts.acquisitions;
    counts.late += slept && !spun ? 1 : 0;
    return doubling_oracle<Env>::advise(spun, slept, window);
  }
};

/// The native environment, with more processors than any window needs.
struct large_native_machine : lockwright::native {
  static std::uint32_t cpus() { return 1'000; }
};

// Threads that always return: the window grows until no thread has to be woken in time, or until
// few enough are late.
TEST(MutableLock, late_wake_ups_are_rare_in_the_long_run) {
  constexpr std::uint64_t k = 10;
  mutable_window<large_native_machine, counted> lock;
  counts = {};
  long counter = 0;
  in_parallel(4, [&](int) {
    for (int i = 0; i < 100'000; ++i) {
      lock.lock();
      ++counter;
      lock.unlock();
    }
  });
  EXPECT_EQ(counter, 400'000);
  EXPECT_EQ(counts.acquisitions, 400'000u);
  EXPECT_LE(counts.late, counts.acquisitions / (k + 1));
}

}  // namespace
