// The three locks of glk, and when it changes between them.
#include <gtest/gtest.h>

#include <string_view>

#include "lockwright/lock/glk.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;

constexpr std::uint32_t sample = 4;
constexpr std::uint32_t period = 16;
constexpr std::uint32_t calm = 3;
/// Acquisitions within which any change must happen: one period after the rest of another.
constexpr int enough = 2 * period;

/// The reported number of runnable threads; the clock advances by one at each reading.
std::atomic<std::uint32_t> threads_to_run{1};
std::atomic<std::uint64_t> clock_now{0};
std::atomic<int> load_readings{0};
thread_local int yields = 0;

/// The lock in use shows by its use of the environment: the queue takes nodes, the mutex sleeps,
/// the ticket lock does neither.
struct staged : observed {
  static std::uint32_t cpus() { return 2; }
  static std::uint32_t runnable() {
    ++load_readings;
    return threads_to_run;
  }
  static std::uint64_t now() { return ++clock_now; }
  static void yield() {
    ++yields;
    observed::yield();
  }

  template <const lockwright::tunable& What>
  static std::uint64_t value() {
    const std::string_view name{What.name};
    return name == "sample"            ? sample
           : name == "period"          ? period
           : name == "calm-looks"      ? calm
           : name == "most-calm-looks" ? calm
           : name == "load-ns"         ? 0
           : name == "polls"           ? 8
           : name == "spin"            ? 0
                                       : observed::value<What>();
  }
};

using lock_type = lockwright::glk<staged>;

enum class part : std::uint8_t { ticket, queue, mutex };

class Glk : public lock_test {
 protected:
  void SetUp() override {
    lock_test::SetUp();
    threads_to_run = 1;
    for (std::uint32_t i = 0; i < 2 * calm; ++i) {
      lockwright::crowding<staged>::is_crowded();
    }
  }

  /// Returns the lock in use for the next holder, behind which another thread waits.
  part in_use() {
    lock.lock();
    test_thread waiter{[this] {
      lock.lock();
      lock.unlock();
    }};
    waiter.wait_until_polling();
    const bool queue = nodes_out.load() != 0;
    // Only the mutex sleeps, and it does at once: its sleep is the first poll.
    const bool mutex = waiter.has_slept();
    lock.unlock();
    waiter.join();
    return queue ? part::queue : mutex ? part::mutex : part::ticket;
  }

  void acquire(int times) {
    for (int i = 0; i < times; ++i) {
      lock.lock();
      lock.unlock();
    }
  }

  /// Each of `threads` threads locks again as soon as it has unlocked, until over() returns true,
  /// which each holder calls when all others wait.
  template <class Over>
  void crowd(std::size_t threads, Over over) {
    constexpr std::uint64_t away = ~std::uint64_t{0};
    std::atomic<bool> stop{false};
    std::atomic<std::size_t> present{0};
    std::vector<const operation_counts*> counts(threads);
    std::vector<std::atomic<std::uint64_t>> sleeps_at_arrival(threads);
    // Several polls, because a waiter of a lock no longer in use moves to the new one.
    const auto wait_for_others = [&](std::size_t self) {
      std::vector<std::uint64_t> polls;
      for (const operation_counts* each : counts) {
        polls.push_back(each->polls.load());
      }
      for (std::size_t i = 0; i < threads; ++i) {
        const auto waits = [&] {
          return counts[i]->polls.load() >= polls[i] + 4 ||
                 counts[i]->sleeps.load() > sleeps_at_arrival[i].load();
        };
        wait_until([&] { return i == self || stop || waits(); });
      }
    };
    in_parallel(static_cast<int>(threads), [&](int number) {
      const auto i = static_cast<std::size_t>(number);
      counts[i] = my_counts;
      sleeps_at_arrival[i] = away;
      ++present;
      wait_until([&] { return present.load() == threads; });
      while (!stop) {
        sleeps_at_arrival[i] = my_counts->sleeps.load();
        lock.lock();
        sleeps_at_arrival[i] = away;
        wait_for_others(i);
        stop = stop || over();
        lock.unlock();
      }
    });
  }

  /// Contends until the queue is in use, which takes nodes.
  void crowd_until_queue() {
    crowd(8, [] { return nodes_out.load() != 0; });
  }

  lock_type lock;
};

TEST_F(Glk, begins_as_a_ticket_lock_and_stays_one) {
  EXPECT_EQ(in_use(), part::ticket);
  acquire(10 * period);
  EXPECT_EQ(in_use(), part::ticket);
}

TEST_F(Glk, changes_to_the_queue_when_many_wait_and_back_when_few_do) {
  crowd_until_queue();
  EXPECT_EQ(in_use(), part::queue);
  acquire(enough);
  EXPECT_EQ(in_use(), part::ticket);
}

// The queue needs three threads ahead on average: with two waiters there are at most two.
TEST_F(Glk, does_not_queue_for_two_waiters) {
  int times = 0;
  crowd(3, [&times] { return ++times > 10 * static_cast<int>(period); });
  EXPECT_EQ(in_use(), part::ticket);
}

TEST_F(Glk, sleeps_while_the_machine_is_crowded) {
  threads_to_run = 2;
  acquire(enough);
  EXPECT_EQ(in_use(), part::ticket) << "two threads have a processor each";
  threads_to_run = 3;
  acquire(enough);
  EXPECT_EQ(in_use(), part::mutex);
  acquire(enough);
  EXPECT_EQ(in_use(), part::mutex);
  threads_to_run = 2;
  acquire(enough);
  EXPECT_EQ(in_use(), part::ticket);
}

TEST_F(Glk, changes_from_the_queue_to_the_mutex_too) {
  crowd_until_queue();
  threads_to_run = 100;
  acquire(enough);
  EXPECT_EQ(in_use(), part::mutex);
  threads_to_run = 1;
  acquire(enough);
  EXPECT_EQ(in_use(), part::ticket);
}

// Threads that wait when the lock changes are admitted by the new one, one at a time.
TEST_F(Glk, moves_its_waiters) {
  constexpr int phase = 4 * period;
  int times = 0;
  bool queued = false;
  const std::uint64_t slept = futex_waits;
  crowd(8, [&] {
    queued = queued || nodes_out.load() != 0;
    threads_to_run = ++times / phase % 2 == 0 ? 1 : 100;
    return times == 6 * phase;
  });
  EXPECT_TRUE(queued);
  EXPECT_GT(futex_waits.load(), slept);
}

// All locks of a process share the state of the machine.
TEST_F(Glk, a_waiter_yields_while_the_machine_is_crowded) {
  for (const std::uint32_t load : {1u, 100u}) {
    threads_to_run = load;
    lock_type held;
    held.lock();
    std::atomic<int> yielded{-1};
    test_thread waiter{[&] {
      yields = 0;
      held.lock();
      yielded = yields;
      held.unlock();
    }};
    const int before = load_readings;
    wait_until([&] { return load_readings >= before + 2; });
    held.unlock();
    waiter.join();
    EXPECT_EQ(yielded.load() > 0, load == 100);
  }
}

class Crowding : public ::testing::Test {
 protected:
  /// A separate record, and a number of calm readings that grows.
  struct slow : staged {
    template <class T>
    static T& common() {
      static T instance;
      return instance;
    }
    template <const lockwright::tunable& What>
    static std::uint64_t value() {
      const std::string_view name{What.name};
      return name == "calm-looks" ? 1 : name == "most-calm-looks" ? 10 : interval;
    }
    static inline std::uint64_t interval = 0;
  };

  /// Returns the number of readings until the crowd counts as over.
  static int readings_to_calm() {
    threads_to_run = 3;
    EXPECT_TRUE(lockwright::crowding<slow>::is_crowded());
    threads_to_run = 2;
    int count = 1;
    while (lockwright::crowding<slow>::is_crowded()) {
      ++count;
    }
    return count;
  }
};

TEST_F(Crowding, needs_more_readings_to_end_each_time) {
  EXPECT_EQ(readings_to_calm(), 4);
  EXPECT_EQ(readings_to_calm(), 10) << "four times as many, but at most the maximum";
  for (int i = 0; i < 20; ++i) {
    lockwright::crowding<slow>::is_crowded();
  }
  EXPECT_EQ(readings_to_calm(), 4) << "a long time without a crowd";
}

TEST_F(Crowding, is_read_once_per_interval) {
  slow::interval = 1'000;
  const int before = load_readings;
  for (int i = 0; i < 5'000; ++i) {
    lockwright::crowding<slow>::is_crowded();
  }
  slow::interval = 0;
  EXPECT_EQ(load_readings - before, 5);
}

TEST(Load, the_machine_reports_runnable_threads) {
  EXPECT_GE(lockwright::native::runnable(), 1u) << "at least the caller";
}

}  // namespace
