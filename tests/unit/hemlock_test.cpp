// Hemlock's single word a thread for all its locks, also if threads unlock for each other.
#include "lockwright/lock/hemlock.hpp"
#include "observed.hpp"

#include <gtest/gtest.h>

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;

using observed_lock = lockwright::hemlock<observed>;
using perturbed_lock = perturbed<lockwright::hemlock<watched>>;

class Hemlock : public lock_test {};

// A thread waits for a lock that it holds itself, as with a semaphore, with others before it.
TEST_F(Hemlock, waits_for_its_own_lock) {
  for (const int others : {0, 1, 3}) {
    observed_lock lock;
    std::atomic<int> admitted{0};
    std::atomic<bool> locked{false};
    test_thread twice{[&] {
      lock.lock();
      locked = true;
      wait_until([&] { return admitted.load() == -others; });
      lock.lock();
      ++admitted;
    }};
    wait_until([&] { return locked.load(); });
    waiting_line waiters{lock};
    for (int i = 0; i < others; ++i) {
      waiters.add(0);
      --admitted;
    }
    twice.wait_until_polling();
    EXPECT_EQ(admitted.load(), -others);
    EXPECT_FALSE(lock.try_lock());
    lock.unlock();
    twice.join();
    EXPECT_EQ(admitted.load(), 1 - others);
    EXPECT_FALSE(lock.try_lock());
    lock.unlock();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  }
}

// A thread ends and leaves its locks held. The next thread reuses its word, waits for one of those
// locks and acquires the others.
TEST_F(Hemlock, outlives_its_threads) {
  for (int round = 0; round < 20; ++round) {
    observed_lock abandoned;
    observed_lock common;
    test_thread{[&] { abandoned.lock(); }}.join();
    std::atomic<int> admitted{0};
    test_threads next;
    for (int i = 0; i < 4; ++i) {
      next.push_back(std::make_unique<test_thread>([&] {
        for (int n = 0; n < 5; ++n) {
          const std::lock_guard guard{common};
        }
        abandoned.lock();
        ++admitted;
        abandoned.unlock();
      }));
    }
    next.front()->wait_until_polling();
    EXPECT_EQ(admitted.load(), 0);
    abandoned.unlock();
    next.clear();
    EXPECT_EQ(admitted.load(), 4);
  }
}

// Several threads unlock for one thread, through its single word, while it unlocks too.
TEST_F(Hemlock, hands_over_several_locks_at_once) {
  constexpr std::size_t count = 3;
  const budget time{300ms};
  do {
    std::vector<std::unique_ptr<perturbed_lock>> locks;
    std::vector<int> entered(count, 0);
    test_threads waiters;
    for (std::size_t i = 0; i < count; ++i) {
      locks.push_back(std::make_unique<perturbed_lock>());
      locks.back()->lock();
    }
    for (std::size_t i = 0; i < 2 * count; ++i) {
      waiters.push_back(std::make_unique<test_thread>([&, i] {
        const std::lock_guard guard{*locks[i % count]};
        ++entered[i % count];
      }));
      waiters.back()->wait_until_polling();
    }
    {
      test_threads unlockers;
      for (std::size_t i = 1; i < count; ++i) {
        unlockers.push_back(std::make_unique<test_thread>([&, i] { locks[i]->unlock(); }));
      }
      locks[0]->unlock();
    }
    waiters.clear();
    EXPECT_EQ(entered, std::vector<int>(count, 2));
  } while (!time.spent());
}

}  // namespace
