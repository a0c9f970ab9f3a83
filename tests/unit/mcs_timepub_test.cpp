// The queue whose waiters publish the time: which are passed over, and what one that gives up
// leaves.
#include <string_view>

#include <gtest/gtest.h>

#include "lockwright/row/mcs_timepub.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;

thread_local std::atomic<bool>* runs = nullptr;  ///< a waiter polls on only while it is set
std::atomic<bool> stands{false};                 ///< it does not

/// A thread that the test has stopped does not get through a poll, as if it had no processor.
struct stoppable : observed {
  static void relax() {
    observed::relax();
    while (runs != nullptr && !runs->load()) {
      stands = true;
      std::this_thread::sleep_for(1ms);
    }
  }
  static void yield() { relax(); }

  // A waiter here polls not nearly as often as elsewhere, but does so several times in this.
  template <const lockwright::tunable& What, const char* Lock>
  static std::uint64_t setting() {
    if (std::string_view{What.name} == "update-delay-ns") {
      return 50'000'000;
    }
    return observed::setting<What, Lock>();
  }
};

using lock_type = lockwright::mcs_timepub_lock<stoppable>;

TEST(TimePublished, passes_over_a_waiter_that_does_not_run) {
  lock_type lock;
  std::atomic<bool> first_runs{true};
  std::atomic<bool> first_was_in{false};
  std::atomic<bool> second_was_in{false};
  lock.lock();
  test_thread first{[&] {
    runs = &first_runs;
    lock.lock();
    first_was_in = true;
    lock.unlock();
  }};
  first.wait_until_polling();
  first_runs = false;
  while (!stands.load()) {
    std::this_thread::sleep_for(1ms);
  }
  std::this_thread::sleep_for(200ms);
  test_thread second{[&] {
    lock.lock();
    second_was_in = true;
    lock.unlock();
  }};
  second.wait_until_polling();
  lock.unlock();
  second.join();
  EXPECT_TRUE(second_was_in);
  EXPECT_FALSE(first_was_in);
  first_runs = true;
  first.join();
  EXPECT_TRUE(first_was_in);
  EXPECT_EQ(nodes_out.load(), 0);
}

TEST(TimePublished, gives_back_what_those_leave_who_gave_up) {
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
