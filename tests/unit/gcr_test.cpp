// The wrapper that restricts concurrency: when threads become active.
#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "lockwright/lock/gcr.hpp"
#include "lockwright/parts/outside.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;
using lockwright::arrival;

/// Admits all threads, so that the active threads of a test need not wait for each other.
struct no_exclusion {
  [[maybe_unused]] static constexpr lockwright::lock_traits traits{
      .category = lockwright::category::competitive_succession,
      .waiting = lockwright::waiting::spin,
      .realtime = lockwright::realtime::starves,
      .reference = "none",
      .summary = "No lock."};
  arrival lock() { return arrival::uncontended; }
  bool try_lock() { return true; }
  void unlock() {}
};

constexpr std::uint64_t never = 1'000'000'000'000;
constexpr int period = 5;

template <std::uint64_t Patience>
struct settings : observed {
  template <const lockwright::tunable& What>
  static std::uint64_t value() {
    if (std::strcmp(What.name, "patience-ns") == 0) {
      return Patience;
    }
    if (std::strcmp(What.name, "promotion") == 0) {
      return period;
    }
    return observed::value<What>();
  }
};

template <std::uint64_t Patience>
using restricted =
    lockwright::outside<settings<Patience>, lockwright::gcr<settings<Patience>, no_exclusion>>;

class Gcr : public lock_test {
 protected:
  void SetUp() override {
    lock_test::SetUp();
    bound = 0;
  }
};

TEST_F(Gcr, two_are_active_and_the_others_wait) {
  using lock_type = restricted<never>;
  lock_type lock;
  std::vector<std::unique_ptr<holder<lock_type>>> holders;
  for (int i = 0; i < 8; ++i) {
    holders.push_back(std::make_unique<holder<lock_type>>(lock));
    if (i < 2) {
      holders.back()->wait_until_inside();
    } else {
      holders.back()->thread().wait_until_polling();
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  EXPECT_EQ(std::ranges::count_if(holders, [](const auto& each) { return each->in(); }), 2);
  // When the active threads leave, the passive ones enter one after the other, in FIFO order.
  for (auto& thread : holders) {
    thread->wait_until_inside();
    thread.reset();
  }
}

TEST_F(Gcr, an_active_thread_that_leaves_admits_an_arrival_only) {
  using lock_type = restricted<never>;
  lock_type lock;
  lock.lock();
  lock.lock();
  holder<lock_type> passive{lock};
  passive.thread().wait_until_polling();
  lock.unlock();
  std::this_thread::sleep_for(std::chrono::milliseconds{10});
  EXPECT_FALSE(passive.in()) << "one active thread is enough to keep the lock busy";
  EXPECT_EQ(lock.lock(), arrival::uncontended);
  lock.unlock();
  lock.unlock();
  passive.wait_until_inside();
}

TEST_F(Gcr, promotes_after_a_number_of_acquisitions) {
  using lock_type = restricted<never>;
  lock_type lock;
  lock.lock();
  lock.lock();
  std::unique_ptr<holder<lock_type>> last;  // unlocks after the passive thread
  holder<lock_type> passive{lock};
  passive.thread().wait_until_polling();
  for (int i = 0; i < period - 1; ++i) {
    lock.unlock();
    lock.lock();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds{10});
  EXPECT_FALSE(passive.in());
  lock.unlock();
  // In another thread, for it has to wait if the passive thread is faster.
  last = std::make_unique<holder<lock_type>>(lock);
  passive.wait_until_inside();
  lock.unlock();
}

TEST_F(Gcr, the_first_passive_thread_becomes_active_after_its_patience) {
  using lock_type = restricted<2'000'000>;
  lock_type lock;
  lock.lock();
  lock.lock();
  holder<lock_type> passive{lock};
  passive.wait_until_inside();
  lock.unlock();
  lock.unlock();
}

TEST_F(Gcr, a_trylock_uses_the_inner_lock_only) {
  using lock_type = restricted<never>;
  lock_type lock;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(lock.try_lock());
  }
  holder<lock_type> passive{lock};
  passive.thread().wait_until_polling();
  for (int i = 0; i < 4; ++i) {
    lock.unlock();
  }
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  lock.unlock();
  passive.wait_until_inside();
}

}  // namespace
