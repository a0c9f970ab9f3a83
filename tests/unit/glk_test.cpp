// Which of its three locks glk uses, and when it changes to another.
#include <gtest/gtest.h>

#include <string_view>

#include "lockwright/lock/glk.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;

constexpr std::uint32_t sample = 4;
constexpr std::uint32_t period = 16;
constexpr std::uint32_t calm = 3;
/// Acquisitions within which any change must have come: a whole period, or a rest and a period.
constexpr int enough = 2 * period;

/// Threads that could run, by the machine's word; the clock shows one more at each look.
std::atomic<std::uint32_t> threads_to_run{1};
std::atomic<std::uint64_t> clock_now{0};
std::atomic<int> looks{0};
thread_local int yields = 0;

/// The lock in use is known by what it needs of its environment: the queue takes nodes, the mutex
/// sleeps, the ticket lock does neither.
struct staged : observed {
  static std::uint32_t cpus() { return 2; }
  static std::uint32_t runnable() {
    ++looks;
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

class Glk : public ::testing::Test {
 protected:
  void SetUp() override {
    nodes_out = 0;
    threads_to_run = 1;
    for (std::uint32_t i = 0; i < 2 * calm; ++i) {
      lockwright::crowding<staged>::noticed();
    }
  }
  void TearDown() override { EXPECT_EQ(nodes_out.load(), 0) << "queue nodes were lost"; }

  /// The lock in use for the next holder, which sees another thread wait.
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

  void take(int times) {
    for (int i = 0; i < times; ++i) {
      lock.lock();
      lock.unlock();
    }
  }

  /// Each of so many threads comes again as soon as it is through, until `over`, for which the
  /// holder of the moment is asked, when all others have come to wait.
  template <class Over>
  void crowd(std::size_t threads, Over over) {
    constexpr std::uint64_t away = ~std::uint64_t{0};
    std::atomic<bool> stop{false};
    std::atomic<std::size_t> present{0};
    std::vector<const operation_counts*> doing(threads);
    std::vector<std::atomic<std::uint64_t>> sleeps_when_it_came(threads);
    // Several polls, because a waiter of a lock no longer in use moves to the new one.
    const auto wait_for_others = [&](std::size_t me) {
      std::vector<std::uint64_t> polls;
      for (const operation_counts* each : doing) {
        polls.push_back(each->polls.load());
      }
      for (std::size_t i = 0; i < threads; ++i) {
        const auto waits = [&] {
          return doing[i]->polls.load() >= polls[i] + 4 ||
                 doing[i]->sleeps.load() > sleeps_when_it_came[i].load();
        };
        while (i != me && !stop && !waits()) {
          std::this_thread::sleep_for(std::chrono::microseconds{20});
        }
      }
    };
    in_parallel(static_cast<int>(threads), [&](int number) {
      const auto i = static_cast<std::size_t>(number);
      doing[i] = mine;
      sleeps_when_it_came[i] = away;
      ++present;
      while (present.load() != threads) {
        std::this_thread::yield();
      }
      while (!stop) {
        sleeps_when_it_came[i] = mine->sleeps.load();
        lock.lock();
        sleeps_when_it_came[i] = away;
        wait_for_others(i);
        stop = stop || over();
        lock.unlock();
      }
    });
  }

  /// Until the queue is used, which takes nodes.
  void crowd_until_queue() {
    crowd(8, [] { return nodes_out.load() != 0; });
  }

  lock_type lock;
};

TEST_F(Glk, begins_as_a_ticket_lock_and_stays_one) {
  EXPECT_EQ(in_use(), part::ticket);
  take(10 * period);
  EXPECT_EQ(in_use(), part::ticket);
}

TEST_F(Glk, goes_to_the_queue_when_many_wait_and_back_when_few_do) {
  crowd_until_queue();
  EXPECT_EQ(in_use(), part::queue);
  take(enough);
  EXPECT_EQ(in_use(), part::ticket);
}

// Three before each on average is what it takes: with two waiters there are never more than two.
TEST_F(Glk, does_not_queue_for_two_waiters) {
  int times = 0;
  crowd(3, [&times] { return ++times > 10 * static_cast<int>(period); });
  EXPECT_EQ(in_use(), part::ticket);
}

TEST_F(Glk, sleeps_while_the_machine_is_crowded) {
  threads_to_run = 2;
  take(enough);
  EXPECT_EQ(in_use(), part::ticket) << "two threads have a processor each";
  threads_to_run = 3;
  take(enough);
  EXPECT_EQ(in_use(), part::mutex);
  take(enough);
  EXPECT_EQ(in_use(), part::mutex);
  threads_to_run = 2;
  take(enough);
  EXPECT_EQ(in_use(), part::ticket);
}

TEST_F(Glk, goes_from_the_queue_to_the_mutex_too) {
  crowd_until_queue();
  threads_to_run = 100;
  take(enough);
  EXPECT_EQ(in_use(), part::mutex);
  threads_to_run = 1;
  take(enough);
  EXPECT_EQ(in_use(), part::ticket);
}

// Those that wait when the lock is changed are let in by the new one, one at a time.
TEST_F(Glk, takes_its_waiters_along) {
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

// What one lock of the process has found out the others know.
TEST_F(Glk, a_waiter_lets_others_run_while_the_machine_is_crowded) {
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
    const int before = looks;
    while (looks < before + 2) {
      std::this_thread::yield();
    }
    held.unlock();
    waiter.join();
    EXPECT_EQ(yielded.load() > 0, load == 100);
  }
}

class Crowding : public ::testing::Test {
 protected:
  /// A record of its own, and numbers that grow.
  struct slow : staged {
    template <class T>
    static T& common() {
      static T mine;
      return mine;
    }
    template <const lockwright::tunable& What>
    static std::uint64_t value() {
      const std::string_view name{What.name};
      return name == "calm-looks" ? 1 : name == "most-calm-looks" ? 10 : interval;
    }
    static inline std::uint64_t interval = 0;
  };

  /// How many looks it takes to believe that there is room.
  static int looks_to_calm() {
    threads_to_run = 3;
    EXPECT_TRUE(lockwright::crowding<slow>::noticed());
    threads_to_run = 2;
    int count = 1;
    while (lockwright::crowding<slow>::noticed()) {
      ++count;
    }
    return count;
  }
};

TEST_F(Crowding, is_believed_to_be_over_later_each_time) {
  EXPECT_EQ(looks_to_calm(), 4);
  EXPECT_EQ(looks_to_calm(), 10) << "four times as many, but never more than the most";
  for (int i = 0; i < 20; ++i) {
    lockwright::crowding<slow>::noticed();
  }
  EXPECT_EQ(looks_to_calm(), 4) << "a long time without a crowd";
}

TEST_F(Crowding, looks_once_in_a_while) {
  slow::interval = 1'000;
  const int before = looks;
  for (int i = 0; i < 5'000; ++i) {
    lockwright::crowding<slow>::noticed();
  }
  slow::interval = 0;
  EXPECT_EQ(looks - before, 5);
}

TEST(Load, the_machine_says_how_many_threads_run) {
  EXPECT_GE(lockwright::native::runnable(), 1u) << "at least the one that asks";
}

}  // namespace
