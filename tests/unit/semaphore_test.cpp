// The queue of waiters and the semaphore over it, used directly, so that ThreadSanitizer checks
// their memory orders, which it does not see in a preload library.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "preload/semaphore.hpp"

namespace lockwright::preload {

/// Replaces the library's function, which queries Valgrind: no tool is notified of the threads
/// here.
bool detect_race_detector() { return false; }

constinit const bool adapts_by_default = true;

}  // namespace lockwright::preload

namespace {

using lockwright::preload::append_setting;
using lockwright::preload::environment;
using lockwright::preload::semaphore;
using lockwright::preload::waiter;
using lockwright::preload::waiter_queue;

/// Returns the setting that is read from `variable`.
append_setting set_to(const char* variable, const char* value) {
  setenv(variable, value, 1);
  return append_setting{variable, false};
}

std::vector<int> order_of_wakes(append_setting& setting, int gives_up) {
  std::array<waiter, 4> waiters{waiter{nullptr}, waiter{nullptr}, waiter{nullptr}, waiter{nullptr}};
  waiter_queue queue;
  for (waiter& waiting : waiters) {
    queue.put(waiting, setting.append());
  }
  if (gives_up >= 0) {
    EXPECT_TRUE(waiters.at(static_cast<std::size_t>(gives_up)).give_up());
  }
  std::vector<int> order;
  while (const waiter* woken = queue.take()) {
    order.push_back(static_cast<int>(woken - waiters.data()));
  }
  if (gives_up >= 0) {
    queue.unlink(waiters.at(static_cast<std::size_t>(gives_up)));
  }
  EXPECT_TRUE(queue.empty());
  return order;
}

TEST(WaiterQueue, wakes_from_the_head) {
  append_setting all = set_to("LOCKWRIGHT_TEST_ALL", "1");
  append_setting none = set_to("LOCKWRIGHT_TEST_NONE", "0");
  append_setting unset = set_to("LOCKWRIGHT_TEST_UNSET", "");
  EXPECT_EQ(order_of_wakes(all, -1), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(order_of_wakes(none, -1), (std::vector<int>{3, 2, 1, 0}));
  EXPECT_EQ(order_of_wakes(unset, -1), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(none.is_set());
  EXPECT_FALSE(unset.is_set());
}

TEST(WaiterQueue, skips_waiters_that_gave_up) {
  append_setting all = set_to("LOCKWRIGHT_TEST_ALL", "1");
  append_setting none = set_to("LOCKWRIGHT_TEST_NONE", "0");
  for (int impatient = 0; impatient < 4; ++impatient) {
    std::vector<int> rest{0, 1, 2, 3};
    rest.erase(rest.begin() + impatient);
    EXPECT_EQ(order_of_wakes(all, impatient), rest);
    EXPECT_EQ(order_of_wakes(none, impatient), (std::vector<int>{rest.rbegin(), rest.rend()}));
  }
}

TEST(WaiterQueue, appends_one_in_so_many) {
  append_setting some = set_to("LOCKWRIGHT_TEST_SOME", "1/4");
  int appended = 0;
  for (int i = 0; i < 10'000; ++i) {
    appended += some.append() ? 1 : 0;
  }
  // 2500 with a tolerance of six standard deviations.
  EXPECT_NEAR(appended, 2'500, 260);
}

/// Waits as sem_wait does, or gives up if `impatient` and not yet granted. Returns true with a
/// unit.
bool take(semaphore& sem, bool impatient) {
  if (sem.try_take()) {
    return true;
  }
  waiter self{nullptr};
  if (sem.take_or_enqueue(self)) {
    return true;
  }
  if (impatient && self.give_up()) {
    sem.leave(self);
    return false;
  }
  while (self.state.load(std::memory_order_acquire) == waiter::waiting) {
    environment::wait(self.state, waiter::waiting);
  }
  self.await_grant();
  return true;
}

// A semaphore of one unit is a mutex: a holder reads what the previous one has written.
TEST(Semaphore, orders_the_writes_of_holders) {
  setenv("LOCKWRIGHT_SEM_APPEND", "1/3", 1);
  semaphore sem{1};
  long guarded = 0;
  std::atomic<long> entered{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 5'000; ++k) {
        if (take(sem, i % 2 == 0 && k % 2 == 0)) {
          ++guarded;
          ++entered;
          // Others arrive meanwhile. On a busy machine a yield would cost time slices.
          if (k % 16 == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds{20});
          }
          EXPECT_TRUE(sem.post());
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(guarded, entered.load());
  EXPECT_GT(guarded, 0);
  EXPECT_EQ(sem.count(), 1u);
}

}  // namespace
