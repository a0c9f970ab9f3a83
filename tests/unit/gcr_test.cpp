// The wrapper that restricts concurrency: which threads become active, and when a passive one does.
#include <cstring>

#include <gtest/gtest.h>

#include "lockwright/lock/gcr.hpp"
#include "lockwright/parts/outside.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;
using lockwright::arrival;

/// Lets all threads in, so that the active threads of a test need not wait for each other.
struct open_door {
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
    lockwright::outside<settings<Patience>, lockwright::gcr<settings<Patience>, open_door>>;

/// A thread that enters and stays until released.
template <class L>
class visitor {
 public:
  visitor(L& lock, std::atomic<int>& inside)
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
  ~visitor() {
    leave_ = true;
    thread_.join();
  }

  void wait_until_in() const {
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
  std::vector<std::unique_ptr<visitor<lock_type>>> visitors;
  for (int i = 0; i < 8; ++i) {
    visitors.push_back(std::make_unique<visitor<lock_type>>(lock, inside));
    if (i < 2) {
      visitors.back()->wait_until_in();
    } else {
      visitors.back()->wait_until_polling();
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  EXPECT_EQ(inside.load(), 2);
  // When the active ones leave, the passive ones come in one after the other, in their order.
  for (auto& one : visitors) {
    one->wait_until_in();
    one.reset();
  }
}

TEST_F(Gcr, an_active_thread_that_leaves_makes_room_for_an_arrival_only) {
  using lock_type = restricted<for_ever>;
  lock_type lock;
  lock.lock();
  lock.lock();
  visitor<lock_type> passive{lock, inside};
  passive.wait_until_polling();
  lock.unlock();
  std::this_thread::sleep_for(std::chrono::milliseconds{10});
  EXPECT_FALSE(passive.in()) << "one active thread is enough to keep the lock busy";
  EXPECT_EQ(lock.lock(), arrival::uncontended);
  lock.unlock();
  lock.unlock();
  passive.wait_until_in();
}

TEST_F(Gcr, promotes_after_a_number_of_acquisitions) {
  using lock_type = restricted<for_ever>;
  lock_type lock;
  lock.lock();
  lock.lock();
  std::unique_ptr<visitor<lock_type>> last;  // leaves after the passive one
  visitor<lock_type> passive{lock, inside};
  passive.wait_until_polling();
  for (int i = 0; i < period - 1; ++i) {
    lock.unlock();
    lock.lock();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds{10});
  EXPECT_FALSE(passive.in());
  lock.unlock();
  // Another thread, for it finds no room if the passive one is faster.
  last = std::make_unique<visitor<lock_type>>(lock, inside);
  passive.wait_until_in();
  lock.unlock();
}

TEST_F(Gcr, the_first_passive_thread_loses_its_patience) {
  using lock_type = restricted<2'000'000>;
  lock_type lock;
  lock.lock();
  lock.lock();
  visitor<lock_type> passive{lock, inside};
  passive.wait_until_in();
  lock.unlock();
  lock.unlock();
}

TEST_F(Gcr, a_trylock_asks_the_lock_inside_only) {
  using lock_type = restricted<for_ever>;
  lock_type lock;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(lock.try_lock());
  }
  visitor<lock_type> passive{lock, inside};
  passive.wait_until_polling();
  for (int i = 0; i < 4; ++i) {
    lock.unlock();
  }
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  lock.unlock();
  passive.wait_until_in();
}

}  // namespace
