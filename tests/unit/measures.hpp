// Measurements of a lock that are compared with its traits.
#pragma once

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "observed.hpp"

namespace testing_locks {

/// The cost of an uncontended acquisition and release.
struct uncontended_path {
  std::uint64_t updates_in_lock;
  std::uint64_t updates_in_unlock;
  std::int64_t queue_nodes;

  [[nodiscard]] bool is_short() const {
    return updates_in_lock <= 1 && updates_in_unlock <= 1 && queue_nodes == 0;
  }
};

template <class L>
uncontended_path measure_path() {
  L lock;
  // Excludes one-time work and adaptation.
  for (int i = 0; i < 100; ++i) {
    lock.lock();
    lock.unlock();
  }
  uncontended_path path{};
  const std::int64_t nodes = nodes_out.load();
  watched::updates = 0;
  lock.lock();
  path.updates_in_lock = watched::updates;
  path.queue_nodes = nodes_out.load() - nodes;
  watched::updates = 0;
  lock.unlock();
  path.updates_in_unlock = watched::updates;
  return path;
}

/// Returns the order of admission of threads that arrived one after the other, on rotating nodes.
template <class L>
std::vector<std::uint32_t> order_of_admission(std::uint64_t spinning, std::uint32_t nodes) {
  constexpr std::uint32_t count = 12;
  bound = spinning;
  declared_nodes = nodes;
  L lock;
  lock.lock();
  waiting_line waiters{lock};
  for (std::uint32_t i = 0; i < count; ++i) {
    waiters.add(i % nodes, i);
  }
  EXPECT_EQ(waiters.admit().size(), count);
  return waiters.admitted();
}

/// The processor time of a thread, for others to read.
class processor_clock {
 public:
  /// Called by the thread itself.
  void start() {
    ASSERT_EQ(pthread_getcpuclockid(pthread_self(), &clock_), 0);
    started_ = now();
    running_ = true;
  }
  void await_start() const {
    wait_until([this] { return running_.load(); });
  }
  [[nodiscard]] std::chrono::nanoseconds used() const { return now() - started_; }

 private:
  [[nodiscard]] std::chrono::nanoseconds now() const {
    timespec t{};
    EXPECT_EQ(clock_gettime(clock_, &t), 0);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
  }

  clockid_t clock_{};
  std::chrono::nanoseconds started_{};
  std::atomic<bool> running_{false};
};

/// Processor time that each spinning waiter soon exceeds while the lock is held, and no parked one.
constexpr std::chrono::milliseconds spinning_time{10};

template <class L>
void hold_while_others_wait(const std::function<void(const std::vector<processor_clock>&)>& then) {
  constexpr std::size_t count = 4;
  L lock;
  std::vector<processor_clock> clocks(count);
  lock.lock();
  test_threads waiters;
  for (std::size_t i = 0; i < count; ++i) {
    waiters.push_back(std::make_unique<test_thread>([&, i] {
      clocks[i].start();
      lock.lock();
      lock.unlock();
    }));
    clocks[i].await_start();
  }
  then(clocks);
  lock.unlock();
}

}  // namespace testing_locks
