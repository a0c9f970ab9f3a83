// The wrapper that restricts concurrency: when threads become active.
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

constexpr std::uint64_t for_ever = 1'000'000'000'000;
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

/// A thread that locks, and unlocks when it is destroyed.
template <class L>
class holder {
 public:
  holder(L& lock, std::atomic<int>& inside)
      : thread_{[this, &lock, &inside] {
          lock.lock();
          ++inside;
          in_ = true;
          while (!leave_) {
            std::this_thread::yield();
          }
          lock.unlock();
          --inside;
        }} {}
  ~holder() {
    leave_ = true;
    thread_.join();
  }

  void wait_until_inside() const {
    while (!in_) {
      std::this_thread::yield();
    }
  }
  void wait_until_polling() const { thread_.wait_until_polling(); }
  [[nodiscard]] bool in() const { return in_; }

 private:
  std::atomic<bool> leave_{false};
  std::atomic<bool> in_{false};
  test_thread thread_;
};

class Gcr : public ::testing::Test {
 protected:
  void SetUp() override {
    nodes_out = 0;
    bound = 0;
  }
  void TearDown() override { EXPECT_EQ(nodes_out.load(), 0); }

  std::atomic<int> inside{0};
};

TEST_F(Gcr, two_are_active_and_the_others_wait) {
  using lock_type = restricted<for_ever>;
  lock_type lock;
  std::vector<std::unique_ptr<holder<lock_type>>> holders;
  for (int i = 0; i < 8; ++i) {
    holders.push_back(std::make_unique<holder<lock_type>>(lock, inside));
    if (i < 2) {
      holders.back()->wait_until_inside();
    } else {
      holders.back()->wait_until_polling();
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  EXPECT_EQ(inside.load(), 2);
  // When the active threads leave, the passive ones enter one after the other, in FIFO order.
  for (auto& thread : holders) {
    thread->wait_until_inside();
    thread.reset();
  }
}

TEST_F(Gcr, an_active_thread_that_leaves_admits_an_arrival_only) {
  using lock_type = restricted<for_ever>;
  lock_type lock;
  lock.lock();
  lock.lock();
  holder<lock_type> passive{lock, inside};
  passive.wait_until_polling();
  lock.unlock();
  std::this_thread::sleep_for(std::chrono::milliseconds{10});
  EXPECT_FALSE(passive.in()) << "one active thread is enough to keep the lock busy";
  EXPECT_EQ(lock.lock(), arrival::uncontended);
  lock.unlock();
  lock.unlock();
  passive.wait_until_inside();
}

TEST_F(Gcr, promotes_after_a_number_of_acquisitions) {
  using lock_type = restricted<for_ever>;
  lock_type lock;
  lock.lock();
  lock.lock();
  std::unique_ptr<holder<lock_type>> last;  // unlocks after the passive thread
  holder<lock_type> passive{lock, inside};
  passive.wait_until_polling();
  for (int i = 0; i < period - 1; ++i) {
    lock.unlock();
    lock.lock();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds{10});
  EXPECT_FALSE(passive.in());
  lock.unlock();
  // In another thread, for it has to wait if the passive thread is faster.
  last = std::make_unique<holder<lock_type>>(lock, inside);
  passive.wait_until_inside();
  lock.unlock();
}

TEST_F(Gcr, the_first_passive_thread_becomes_active_after_its_patience) {
  using lock_type = restricted<2'000'000>;
  lock_type lock;
  lock.lock();
  lock.lock();
  holder<lock_type> passive{lock, inside};
  passive.wait_until_inside();
  lock.unlock();
  lock.unlock();
}

TEST_F(Gcr, a_trylock_uses_the_inner_lock_only) {
  using lock_type = restricted<for_ever>;
  lock_type lock;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(lock.try_lock());
  }
  holder<lock_type> passive{lock, inside};
  passive.wait_until_polling();
  for (int i = 0; i < 4; ++i) {
    lock.unlock();
  }
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  lock.unlock();
  passive.wait_until_inside();
}

}  // namespace
