// The queue whose waiters publish the time: skipped waiters, and nodes of waiters that gave up.
#include <string_view>

#include <gtest/gtest.h>

#include "lockwright/row/mcs_timepub.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;

thread_local std::atomic<bool>* runs = nullptr;  ///< if set, a waiter polls only while true
std::atomic<bool> stopped{false};                ///< a waiter does not poll

/// A stopped thread does not complete a poll, as if it had no processor.
struct stoppable : observed {
  static void relax() {
    observed::relax();
    while (runs != nullptr && !runs->load()) {
      stopped = true;
      std::this_thread::sleep_for(1ms);
    }
  }
  static void yield() { relax(); }

  // A waiter here polls less often than natively, but several times within this delay.
  template <const lockwright::tunable& What, const char* Lock>
  static std::uint64_t setting() {
    if (std::string_view{What.name} == "update-delay-ns") {
      return 50'000'000;
    }
    return observed::setting<What, Lock>();
  }
};

using lock_type = lockwright::mcs_timepub_lock<stoppable>;

TEST(TimePublished, skips_a_waiter_that_does_not_run) {
  lock_type lock;
  std::atomic<bool> first_runs{true};
  std::atomic<bool> first_entered{false};
  std::atomic<bool> second_entered{false};
  lock.lock();
  test_thread first{[&] {
    runs = &first_runs;
    lock.lock();
    first_entered = true;
    lock.unlock();
  }};
  first.wait_until_polling();
  first_runs = false;
  wait_until([] { return stopped.load(); });
  std::this_thread::sleep_for(200ms);
  test_thread second{[&] {
    lock.lock();
    second_entered = true;
    lock.unlock();
  }};
  second.wait_until_polling();
  lock.unlock();
  second.join();
  EXPECT_TRUE(second_entered);
  EXPECT_FALSE(first_entered);
  first_runs = true;
  first.join();
  EXPECT_TRUE(first_entered);
  EXPECT_EQ(nodes_out.load(), 0);
}

TEST(TimePublished, frees_the_nodes_of_waiters_that_gave_up) {
  lock_type lock;
  lock.lock();
  for (int i = 0; i < 3; ++i) {
    test_thread{[&] { EXPECT_FALSE(lock.try_lock_until(stoppable::now() + 1'000'000)); }}.join();
  }
  EXPECT_EQ(nodes_out.load(), 4);
  lock.unlock();
  EXPECT_EQ(nodes_out.load(), 0);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

}  // namespace
