// Every algorithm of the registry, used directly from C++.
#include <random>

#include "observed.hpp"
#include "rows.hpp"

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;
using lockwright::arrival;

class Locks : public row_test {
 protected:
  void SetUp() override {
    row_test::SetUp();
    bound = 100'000;
    declared_nodes = nodes_of_this_run();
  }
};
LOCKWRIGHT_EACH_ROW(Locks);

/// Returns true if another thread cannot acquire the lock.
template <class L>
bool is_held(L& lock) {
  bool held = false;
  test_thread{[&] {
    held = !lock.try_lock();
    if (!held) {
      lock.unlock();
    }
  }}.join();
  return held;
}

TEST_P(Locks, states_its_traits) {
  EXPECT_NE(traits().reference, nullptr);
  EXPECT_NE(traits().summary, nullptr);
}

TEST_P(Locks, zeroed_memory_is_unlocked) {
  const auto lock = row().on_zeroed_memory();
  EXPECT_FALSE(is_held(*lock));
  EXPECT_EQ(lock->lock(), arrival::uncontended);
  EXPECT_TRUE(is_held(*lock));
  lock->unlock();
  EXPECT_FALSE(is_held(*lock));
}

TEST_P(Locks, constant_initialisation) {
  const auto lock = row().at_start();
  EXPECT_TRUE(lock->try_lock());
  lock->unlock();
}

// std::scoped_lock backs off by trylock: opposite orders must not deadlock.
TEST_P(Locks, opposite_orders) {
  lock_type a;
  lock_type b;
  int together = 0;
  in_parallel(2, [&](int i) {
    for (int n = 0; n < 300; ++n) {
      if (i == 0) {
        const std::scoped_lock both{a, b};
        ++together;
      } else {
        const std::scoped_lock both{b, a};
        ++together;
      }
    }
  });
  EXPECT_EQ(together, 600);
}

TEST_P(Locks, reports_contention) {
  lock_type lock;
  EXPECT_EQ(lock.lock(), arrival::uncontended);
  arrival found = arrival::uncontended;
  test_thread other{[&] {
    found = lock.lock();
    lock.unlock();
  }};
  other.wait_until_polling();
  lock.unlock();
  other.join();
  EXPECT_EQ(found, arrival::contended);
  EXPECT_EQ(lock.lock(), arrival::uncontended);
  lock.unlock();
}

TEST_P(Locks, trylock) {
  lock_type lock;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(lock.try_lock());
    ASSERT_FALSE(lock.try_lock());
    ASSERT_TRUE(is_held(lock));
    lock.unlock();
    lock.lock();
    ASSERT_FALSE(lock.try_lock());
    lock.unlock();
  }
  EXPECT_FALSE(is_held(lock));
}

// A refused trylock neither polls nor sleeps: a fixed number of steps.
TEST_P(Locks, trylock_never_waits) {
  lock_type lock;
  lock.lock();
  waiting_line waiter{lock};
  waiter.add(0);
  std::uint64_t steps = 1;
  test_thread{[&] {
    operation_counts counts;
    my_counts = &counts;
    for (int i = 0; i < 1'000; ++i) {
      EXPECT_FALSE(lock.try_lock());
    }
    steps = counts.polls.load();
  }}.join();
  EXPECT_EQ(steps, 0u);
  waiter.admit();
}

// Trylocks by the holder and by other threads: each queued thread still acquires, once.
TEST_P(Locks, trylock_leaves_the_queue_unchanged) {
  lock_type lock;
  lock.lock();
  waiting_line waiters{lock};
  for (int i = 0; i < 4; ++i) {
    waiters.add(next_node());
    EXPECT_FALSE(lock.try_lock());
    EXPECT_TRUE(is_held(lock));
  }
  EXPECT_TRUE(waiters.admitted().empty());
  EXPECT_EQ(waiters.admit().size(), 4u);
  EXPECT_FALSE(is_held(lock));
}

template <class L>
void contend(L& lock, int threads, std::chrono::milliseconds length) {
  long first = 0;
  long second = 0;
  bool inside = false;
  std::atomic<long> entered{0};
  std::atomic<int> overlaps{0};
  const budget time{length};
  in_parallel(threads, [&](int i) {
    std::minstd_rand random{static_cast<unsigned>(i) + 1};
    long sections = 0;
    do {
      if (random() % 4 == 0) {
        if (!lock.try_lock()) {
          std::this_thread::yield();
          continue;
        }
      } else {
        lock.lock();
      }
      overlaps += inside ? 1 : 0;
      inside = true;
      ++first;
      if (random() % 16 == 0) {
        std::this_thread::yield();
      }
      ++second;
      inside = false;
      lock.unlock();
      ++sections;
    } while (!time.spent());
    entered += sections;
  });
  EXPECT_EQ(overlaps.load(), 0);
  EXPECT_EQ(first, entered.load());
  EXPECT_EQ(second, entered.load());
}

// The native environment, with no more threads than CPUs, so that spinning is useful.
TEST_P(Locks, mutual_exclusion) {
  native_lock lock;
  contend(lock, static_cast<int>(std::max(2u, std::thread::hardware_concurrency())), 150ms);
}

TEST_P(Locks, mutual_exclusion_over_subscribed) {
  for (const std::uint64_t spinning : {std::uint64_t{0}, std::uint64_t{30'000}}) {
    bound = spinning;
    lock_type lock;
    contend(lock, 8, 100ms);
  }
}

// Threads are delayed at random between the steps of the algorithm.
TEST_P(Locks, mutual_exclusion_with_random_delays) {
  for (const std::uint64_t spinning : {std::uint64_t{0}, std::uint64_t{30'000}}) {
    bound = spinning;
    perturbed_lock lock;
    contend(lock, 4, 100ms);
  }
}

TEST_P(Locks, nesting_with_release_in_any_order) {
  constexpr std::size_t depth = 16;
  std::vector<std::unique_ptr<lock_type>> locks;
  for (std::size_t i = 0; i < depth; ++i) {
    locks.push_back(std::make_unique<lock_type>());
  }
  std::vector<long> counters(depth);
  std::atomic<long> nests{0};
  const budget time{100ms};
  in_parallel(3, [&](int i) {
    std::minstd_rand random{static_cast<unsigned>(i) + 5};
    std::vector<std::size_t> order(depth);
    for (std::size_t n = 0; n < depth; ++n) {
      order[n] = n;
    }
    do {
      for (std::size_t n = 0; n < depth; ++n) {
        locks[n]->lock();
        ++counters[n];
      }
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t n : order) {
        locks[n]->unlock();
      }
      ++nests;
    } while (!time.spent());
  });
  for (const long counter : counters) {
    EXPECT_EQ(counter, nests.load());
  }
}

}  // namespace
