// Every algorithm of the registry, used directly from C++.
#include <cstring>
#include <random>

#include "observed.hpp"
#include "rows.hpp"

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;
using lockwright::arrival;

template <class Row>
class Locks : public lock_test {
 protected:
  using native_lock = typename Row::template lock<lockwright::native>;
  using lock_type = typename Row::template lock<observed>;

  void SetUp() override {
    lock_test::SetUp();
    bound = 100'000;
    declared_nodes = nodes_of_this_run();
  }
};
TYPED_TEST_SUITE(Locks, all_rows, row_name);

template <class L>
constinit L at_start{};

/// A lock on memory without a constructor call.
template <class L>
class zeroed {
 public:
  zeroed() { std::memset(bytes_, 0, sizeof bytes_); }
  zeroed(const zeroed&) = delete;
  zeroed& operator=(const zeroed&) = delete;
  ~zeroed() { get().~L(); }
  L& get() { return *reinterpret_cast<L*>(bytes_); }

 private:
  alignas(64) unsigned char bytes_[sizeof(L)];
};

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

TYPED_TEST(Locks, states_its_traits) {
  using L = typename TestFixture::native_lock;
  static_assert(lockwright::TryLock<L>);
  static_assert(
      L::traits.category == lockwright::category::library || (sizeof(L) <= 16 && alignof(L) <= 8),
      "the state fits behind the words of the POSIX layer");
  EXPECT_NE(L::traits.reference, nullptr);
  EXPECT_NE(L::traits.summary, nullptr);
}

TYPED_TEST(Locks, zeroed_memory_is_unlocked) {
  zeroed<typename TestFixture::lock_type> memory;
  EXPECT_FALSE(is_held(memory.get()));
  EXPECT_EQ(memory.get().lock(), arrival::uncontended);
  EXPECT_TRUE(is_held(memory.get()));
  memory.get().unlock();
  EXPECT_FALSE(is_held(memory.get()));
}

TYPED_TEST(Locks, constant_initialisation) {
  auto& lock = at_start<typename TestFixture::lock_type>;
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// std::scoped_lock backs off by trylock: opposite orders must not deadlock.
TYPED_TEST(Locks, opposite_orders) {
  typename TestFixture::lock_type a;
  typename TestFixture::lock_type b;
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

TYPED_TEST(Locks, reports_contention) {
  typename TestFixture::lock_type lock;
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

TYPED_TEST(Locks, trylock) {
  typename TestFixture::lock_type lock;
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
TYPED_TEST(Locks, trylock_never_waits) {
  typename TestFixture::lock_type lock;
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
TYPED_TEST(Locks, trylock_leaves_the_queue_unchanged) {
  typename TestFixture::lock_type lock;
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
TYPED_TEST(Locks, mutual_exclusion) {
  typename TestFixture::native_lock lock;
  contend(lock, static_cast<int>(std::max(2u, std::thread::hardware_concurrency())), 150ms);
}

TYPED_TEST(Locks, mutual_exclusion_over_subscribed) {
  for (const std::uint64_t spinning : {std::uint64_t{0}, std::uint64_t{30'000}}) {
    bound = spinning;
    typename TestFixture::lock_type lock;
    contend(lock, 8, 100ms);
  }
}

// Threads are delayed at random between the steps of the algorithm.
TYPED_TEST(Locks, mutual_exclusion_with_random_delays) {
  for (const std::uint64_t spinning : {std::uint64_t{0}, std::uint64_t{30'000}}) {
    bound = spinning;
    typename TypeParam::template lock<perturbed> lock;
    contend(lock, 4, 100ms);
  }
}

TYPED_TEST(Locks, nesting_with_release_in_any_order) {
  constexpr std::size_t depth = 16;
  std::vector<std::unique_ptr<typename TestFixture::lock_type>> locks;
  for (std::size_t i = 0; i < depth; ++i) {
    locks.push_back(std::make_unique<typename TestFixture::lock_type>());
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
