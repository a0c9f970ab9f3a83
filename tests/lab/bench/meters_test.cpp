// Tests of the meters on cases with known results.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <thread>

#include "meter/admission.hpp"
#include "meter/fairness.hpp"
#include "meter/histogram.hpp"
#include "meter/mutex_meter.hpp"
#include "meter/usage.hpp"

namespace {

using bench::histogram;

TEST(Histogram, IsExactForSmallValues) {
  histogram h;
  for (std::uint64_t value = 200; value >= 1; --value) {
    h.add(value);
  }
  EXPECT_EQ(h.at(0.5), 100U);
  EXPECT_EQ(h.at(0.9), 180U);
  EXPECT_EQ(h.at(0.99), 198U);
  EXPECT_EQ(h.at(0.999), 200U);
  EXPECT_EQ(h.at(1), 200U);
  EXPECT_EQ(h.at(0), 1U);
  EXPECT_EQ(h.count(), 200U);
  EXPECT_DOUBLE_EQ(h.mean(), 100.5);
}

TEST(Histogram, IsNeverBelowAndLessThanOnePartIn128Above) {
  std::uint64_t value = 1;
  for (int i = 0; i < 4000; ++i) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t small = value >> (i % 64);
    histogram h;
    h.add(small);
    // The greatest value is exact, so the tested one must be smaller.
    h.add(UINT64_MAX);
    EXPECT_GE(h.at(0.5), small);
    EXPECT_LE(h.at(0.5) - small, small / 128);
  }
}

TEST(Histogram, FindsOneValueAmongMany) {
  histogram few;
  histogram many;
  for (int i = 0; i < 9999; ++i) {
    many.add(10);
  }
  few.add(1'000'000);
  many.add(few);
  EXPECT_EQ(many.count(), 10'000U);
  EXPECT_EQ(many.at(0.5), 10U);
  EXPECT_EQ(many.at(0.9999), 10U);
  EXPECT_EQ(many.at(0.99991), 1'000'000U);
  EXPECT_EQ(many.max(), 1'000'000U);
}

TEST(Histogram, IsZeroWithoutValues) {
  const histogram h;
  EXPECT_EQ(h.at(0.5), 0U);
  EXPECT_EQ(h.mean(), 0);
}

bench::admission_history history_of(const std::string& order, std::uint64_t window) {
  std::map<char, bench::admission_record> threads;
  std::uint64_t ordinal = 0;
  for (const char name : order) {
    threads.try_emplace(name, window).first->second.admitted(ordinal++);
  }
  bench::admission_history history(ordinal, window);
  for (const auto& [name, record] : threads) {
    history.add(record);
  }
  return history;
}

// The example of the paper: admissions 0 to 5 are of three threads.
TEST(Admissions, MatchThePaper) {
  const auto history = history_of("ABCABCDAE", 6);
  EXPECT_EQ(history.windows(), 1U);
  EXPECT_EQ(history.average_lwss(), 3.0);
  // Between two of A: B C, then B C D; of B: C A; of C: A B. The median of 2 3 2 2 is 2.
  EXPECT_EQ(history.mttr(), 2U);
}

TEST(Admissions, AnIncompleteWindowIsLeftOut) {
  // ABCA has three, BCDA four, and E is alone.
  const auto history = history_of("ABCABCDAE", 4);
  EXPECT_EQ(history.windows(), 2U);
  EXPECT_EQ(history.average_lwss(), 3.5);
  EXPECT_EQ(history_of("ABCABCDAE", 3).average_lwss(), 3.0);
  EXPECT_FALSE(history_of("AB", 3).average_lwss().has_value());
}

TEST(Admissions, RoundRobinOf32Threads) {
  std::string order;
  for (int i = 0; i < 3200; ++i) {
    order += static_cast<char>('0' + i % 32);
  }
  const auto history = history_of(order, 1000);
  EXPECT_EQ(history.windows(), 3U);
  EXPECT_EQ(history.average_lwss(), 32.0);
  EXPECT_EQ(history.mttr(), 31U);
}

TEST(Admissions, OneThreadAfterAnother) {
  const auto history = history_of(std::string(500, 'A') + std::string(500, 'B'), 250);
  EXPECT_EQ(history.average_lwss(), 1.0);
  EXPECT_EQ(history.mttr(), 0U);
  EXPECT_FALSE(history_of("ABC", 3).mttr().has_value());
}

TEST(Fairness, KnownDistributions) {
  EXPECT_DOUBLE_EQ(bench::gini({7, 7, 7}), 0);
  EXPECT_DOUBLE_EQ(bench::gini({0, 12, 0, 0}), 0.75);
  EXPECT_DOUBLE_EQ(bench::gini({3, 1}), 0.25);
  EXPECT_DOUBLE_EQ(bench::gini({4, 1, 3, 2}), 0.25);
  EXPECT_DOUBLE_EQ(bench::gini({0, 0}), 0);
  EXPECT_DOUBLE_EQ(bench::relative_deviation({7, 7, 7}), 0);
  EXPECT_DOUBLE_EQ(bench::relative_deviation({1, 3}), 0.5);
  EXPECT_DOUBLE_EQ(bench::relative_deviation({1, 2, 3, 4}), std::sqrt(1.25) / 2.5);
  EXPECT_DOUBLE_EQ(bench::relative_deviation({0, 12, 0, 0}), std::sqrt(3.0));
}

TEST(Usage, CountsSleepsFaultsAndWork) {
  const bench::usage before = bench::usage_so_far();
  for (int i = 0; i < 5; ++i) {
    bench::sleep_ns(1'000'000);
  }
  const auto page = static_cast<std::size_t>(getpagesize());
  constexpr std::size_t pages = 64;
  void* const memory =
      mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, pages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) {
    static_cast<volatile char*>(memory)[i * page] = 1;
  }
  const double used = bench::processor_seconds_so_far();
  while (bench::processor_seconds_so_far() < used + 0.03) {
  }
  const bench::usage after = bench::usage_so_far();
  EXPECT_GE(after.voluntary - before.voluntary, 5);
  EXPECT_GE(after.minor_faults - before.minor_faults, static_cast<std::int64_t>(pages));
  // The kernel divides its ticks between user and system time, and may be late by one.
  EXPECT_GE(after.processor_seconds() - before.processor_seconds(), 0.02);
  munmap(memory, pages * page);
}

TEST(Usage, CountsMigrations) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) {
    GTEST_SKIP() << "there is one processor only";
  }
  const bench::usage before = bench::usage_so_far();
  if (!before.migrations) {
    GTEST_SKIP() << "this kernel does not count migrations";
  }
  for (int round = 0; round < 2; ++round) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &allowed)) {
        bench::pin_to(cpu);
      }
    }
  }
  EXPECT_GE(bench::usage_so_far().migrations.value_or(0) - *before.migrations, 3);
  sched_setaffinity(0, sizeof allowed, &allowed);
}

using metered = bench::mutex_meter<bench::meter_latency | bench::meter_admissions>;

// Returns the ticks in `ns` nanoseconds.
double ticks_of_ns(double ns) {
  const std::uint64_t from_ns = bench::now_ns();
  const std::uint64_t from = bench::ticks();
  bench::sleep_ns(5'000'000);
  const std::uint64_t elapsed = bench::ticks() - from;
  return ns * static_cast<double>(elapsed) / static_cast<double>(bench::now_ns() - from_ns);
}

constexpr std::uint64_t injected_ns = 20'000'000;
// The accuracy of that conversion, which is measured in a few milliseconds.
constexpr double accuracy = 0.9;

void await_sleep_of(pid_t thread) {
  for (;;) {
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
    std::FILE* const file = std::fopen(path.c_str(), "re");
    ASSERT_NE(file, nullptr);
    char state = '?';
    ASSERT_EQ(std::fscanf(file, "%*d (%*[^)]) %c", &state), 1);
    std::fclose(file);
    if (state == 'S') {
      return;
    }
    bench::sleep_ns(1'000'000);
  }
}

TEST(Meter, MeasuresASleepInTheSection) {
  bench::guarded_mutex shared;
  metered meter(1000);
  meter.step_begins(true, 0);
  meter.lock(shared);
  bench::sleep_ns(injected_ns);
  meter.unlock(shared);
  meter.step_ended();
  const auto least = static_cast<std::uint64_t>(accuracy * ticks_of_ns(injected_ns));
  EXPECT_EQ(meter.times().hold.count(), 1U);
  EXPECT_GE(meter.times().hold.max(), least);
  EXPECT_GE(meter.times().operation.max(), least);
  EXPECT_EQ(meter.times().acquisition.count(), 1U);
  EXPECT_LT(meter.times().acquisition.max(), meter.times().hold.max());
  EXPECT_EQ(meter.times().handover.count(), 0U);
}

TEST(Meter, MeasuresTheWaitAndTheHandover) {
  bench::guarded_mutex shared;
  metered first(1000);
  metered second(1000);
  first.step_begins(true, 0);
  first.lock(shared);
  std::atomic<pid_t> id{0};
  std::thread waiter([&] {
    id.store(static_cast<pid_t>(syscall(SYS_gettid)));
    second.step_begins(true, 0);
    second.lock(shared);
    second.unlock(shared);
  });
  while (id.load() == 0) {
    bench::sleep_ns(1'000'000);
  }
  await_sleep_of(id.load());
  bench::sleep_ns(injected_ns);
  first.unlock(shared);
  waiter.join();
  const auto least = static_cast<std::uint64_t>(accuracy * ticks_of_ns(injected_ns));
  EXPECT_GE(second.times().acquisition.max(), least);
  EXPECT_EQ(second.times().handover.count(), 1U);
  // The handover begins after the injected time.
  EXPECT_LT(second.times().handover.max(), second.times().acquisition.max() - least);
  EXPECT_EQ(shared.taken, 2U);
  EXPECT_EQ(shared.recorded, 2U);
}

TEST(Meter, MeasuresFromTheDueTimeOfAStep) {
  bench::guarded_mutex shared;
  metered meter(1000);
  const std::uint64_t due = bench::ticks();
  bench::sleep_ns(injected_ns);
  meter.step_begins(true, due);
  meter.lock(shared);
  meter.unlock(shared);
  meter.lock(shared);
  meter.unlock(shared);
  meter.step_ended();
  const auto least = static_cast<std::uint64_t>(accuracy * ticks_of_ns(injected_ns));
  EXPECT_GE(meter.times().operation.max(), least);
  // The second acquisition of the step was not late.
  EXPECT_GE(meter.times().acquisition.max(), least);
  EXPECT_LT(meter.times().acquisition.at(0.5), least);
}

TEST(Meter, RecordsNothingDuringTheWarmUp) {
  bench::guarded_mutex shared;
  metered meter(1000);
  meter.step_begins(false, 0);
  meter.lock(shared);
  meter.unlock(shared);
  meter.step_ended();
  EXPECT_EQ(meter.times().acquisition.count(), 0U);
  EXPECT_EQ(meter.times().hold.count(), 0U);
  EXPECT_EQ(meter.times().operation.count(), 0U);
  EXPECT_EQ(shared.recorded, 0U);
  EXPECT_EQ(meter.acquisitions(), 1U);
}

}  // namespace
