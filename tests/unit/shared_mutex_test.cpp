// The reader-writer lock for a program's own code, by the standard library's guards.
#include "lockwright/shared_mutex.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

using lockwright::adaptive_shared_mutex;
using namespace std::chrono_literals;

TEST(SharedMutex, ReadersSeeWholeChanges) {
  adaptive_shared_mutex guard;
  long first = 0;
  long second = 0;
  std::atomic<bool> torn{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 10'000; ++j) {
        if (j % 10 == i) {
          const std::unique_lock inside{guard};
          ++first;
          ++second;
        } else {
          const std::shared_lock inside{guard};
          torn = torn || first != second;
        }
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  EXPECT_FALSE(torn);
  EXPECT_EQ(first, 4'000);
}

/// Returns what attempt() returns in another thread.
template <class Attempt>
bool elsewhere(Attempt attempt) {
  bool result = false;
  std::thread([&] { result = attempt(); }).join();
  return result;
}

TEST(SharedMutex, AttemptsFailWhileAWriterIsInside) {
  adaptive_shared_mutex guard;
  const std::unique_lock inside{guard};
  EXPECT_FALSE(elsewhere([&] { return guard.try_lock(); }));
  EXPECT_FALSE(elsewhere([&] { return guard.try_lock_shared(); }));
  EXPECT_FALSE(elsewhere([&] { return guard.try_lock_for(2ms); }));
  EXPECT_FALSE(elsewhere([&] { return guard.try_lock_shared_for(2ms); }));
  EXPECT_FALSE(elsewhere(
      [&] { return guard.try_lock_shared_until(std::chrono::system_clock::now() + 2ms); }));
  EXPECT_FALSE(elsewhere([&] { return guard.try_lock_until(std::chrono::steady_clock::now()); }));
}

TEST(SharedMutex, AReaderKeepsOnlyWritersOut) {
  adaptive_shared_mutex guard;
  {
    const std::shared_lock inside{guard};
    EXPECT_TRUE(
        elsewhere([&] { return std::shared_lock{guard, std::chrono::hours::max()}.owns_lock(); }));
    EXPECT_FALSE(elsewhere([&] { return guard.try_lock_for(-1h); }));
  }
  EXPECT_TRUE(std::unique_lock(guard, std::try_to_lock).owns_lock());
}

}  // namespace
