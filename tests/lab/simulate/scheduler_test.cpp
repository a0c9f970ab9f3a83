// Worked examples of threads, processors and sleeps, exact to the nanosecond.
#include <gtest/gtest.h>

#include "worked_examples.hpp"

namespace worked_examples {
namespace {

/// Returns a machine without idle processors, which would take over a thread that waits.
figures one_processor() {
  figures f = round_figures();
  f.nodes_per_package = f.caches_per_node = f.cores_per_cache = 1;
  return f;
}

TEST(Scheduler, TwoThreadsShareAProcessor) {
  figures f = one_processor();
  f.slice = 1'000 * ns;
  f.switch_thread = 10 * ns;
  scenario s(f);
  s.on(0, [&] {
    s.sim->spend(1'500 * ns);
    s.note("a");
  });
  s.on(0, [&] {
    s.sim->spend(500 * ns);
    s.note("b");
  });
  s.run();
  // a runs from 10 to 1000, when its slice from 0 ends; b runs from 1010 to 1510; a runs again from
  // 1520, for the remaining 510.
  EXPECT_EQ(s.times, (times{{"b", 1510}, {"a", 2030}}));
  EXPECT_EQ(s.sim->counted.preemptions, 1u);
}

TEST(Scheduler, AnIdleProcessorStealsAWaitingThread) {
  figures f = round_figures();
  f.migration = 100 * ns;
  scenario s(f);
  s.on(0, [&] { s.sim->spend(5'000 * ns); });
  s.on(0, [&] {
    s.sim->spend(200 * ns);
    s.note("moved");
  });
  s.on(1, [&] { s.sim->spend(1'000 * ns); });
  s.run();
  EXPECT_EQ(s.times, (times{{"moved", 1'300}}));
  EXPECT_EQ(s.sim->counted.migrations, 1u);
}

TEST(Scheduler, ASliceEndsAtATick) {
  figures f = one_processor();
  f.slice = 1'000 * ns;
  f.tick = 1'600 * ns;
  scenario s(f);
  s.on(0, [&] {
    s.sim->spend(2'000 * ns);
    s.note("a");
  });
  s.on(0, [&] {
    s.sim->spend(500 * ns);
    s.note("b");
  });
  s.run();
  // a runs to 1600, or up to a hundredth of a tick more; b for 500; a for the remaining 400.
  ASSERT_EQ(s.times.size(), 2u);
  EXPECT_GE(s.times[0].second, 2'100u);
  EXPECT_LE(s.times[0].second, 2'116u);
  EXPECT_EQ(s.times[1], (std::pair<std::string, std::uint64_t>{"a", 2'500}));
}

TEST(Scheduler, ABoundThreadIsNotStolen) {
  figures f = round_figures();
  f.migration = 0;
  scenario s(f);
  s.on(0, [&] { s.sim->spend(5'000 * ns); });
  s.on(1, [&] {
    s.sim->move_to(0);
    s.sim->spend(200 * ns);
    s.note("stayed");
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"stayed", 5'200}}));
}

TEST(Scheduler, AMovedThreadPreemptsAsAWokenOneDoes) {
  std::vector<times> recorded;
  for (const std::uint64_t margin : {5'000u, 7'000u}) {
    figures f = round_figures();
    f.slice = 10'000 * ns;
    f.wake_preempts = margin * ns;
    f.migration = 100 * ns;
    scenario s(f);
    s.on(0, [&] {
      s.sim->move_to(0);  // It is bound to its processor, so that no idle one takes it over.
      s.sim->spend(50'000 * ns);
      s.note("stayed");
    });
    s.on(1, [&] {
      s.sim->spend(6'000 * ns);
      s.sim->move_to(0);
      s.sim->spend(1'000 * ns);
      s.note("moved");
    });
    s.run();
    recorded.push_back(s.times);
  }
  // It arrives at 6000, and runs after 100 or at the end of the slice, 10000.
  EXPECT_EQ(recorded[0], (times{{"moved", 7'100}, {"stayed", 51'100}}));
  EXPECT_EQ(recorded[1], (times{{"moved", 11'100}, {"stayed", 51'100}}));
}

TEST(Scheduler, AMovedThreadKeepsItsSlice) {
  figures f = round_figures();
  f.nodes_per_package = f.caches_per_node = 1;
  f.fair = 1;
  f.slice = 10'000 * ns;
  f.migration = 100 * ns;
  scenario s(f);
  s.on(0, [&] {
    s.sim->move_to(0);
    s.sim->spend(30'000 * ns);
    s.note("stayed");
  });
  s.on(1, [&] { s.sim->spend(2'000 * ns); });
  s.on(1, [&] {
    s.sim->spend(4'000 * ns);
    s.sim->move_to(0);
    s.sim->spend(8'000 * ns);
    s.note("moved");
  });
  s.run();
  // It runs on processor 1 from 2000 to 6000, which leaves 6000 of its slice: from 10000, the end of
  // the other's slice, to 16000, of which the migration takes 100. The other's next slice ends at
  // 26000; the remaining 2100 end at 28100, and the other's last 10000 at 38100.
  EXPECT_EQ(s.times, (times{{"moved", 28'100}, {"stayed", 38'100}}));
}

TEST(Scheduler, AThreadThatRanLatelyIsNotStolen) {
  figures f = round_figures();
  f.slice = 1'000 * ns;
  f.cache_hot = 500 * ns;
  f.migration = 100 * ns;
  scenario s(f);
  s.on(0, [&] {
    s.sim->spend(3'000 * ns);
    s.note("a");
  });
  s.on(0, [&] {
    s.sim->spend(3'000 * ns);
    s.note("b");
  });
  s.on(1, [&] { s.sim->spend(1'100 * ns); });
  for (const std::uint32_t other : {2u, 3u, 4u, 5u, 6u, 7u}) {
    s.on(other, [&] { s.sim->spend(9'000 * ns); });
  }
  s.run();
  // Processor 1 is idle from 1100, when a has waited for 100. It takes a at the end of b's slice, 2000;
  // a runs on it from 2100 for the remaining 2000, and b to its end at 4000.
  EXPECT_EQ(s.times, (times{{"b", 4'000}, {"a", 4'100}}));
}

TEST(Scheduler, AFairSchedulerPrefersAThreadThatHasSlept) {
  std::vector<std::uint64_t> woken;
  for (const std::uint64_t margin : {4'000u, 6'000u}) {
    figures f = round_figures();
    f.fair = 1;
    f.period = 10'000 * ns;
    f.slice = 20'000 * ns;
    f.wake_preempts = margin * ns;
    scenario s(f);
    s.sleeper_on(0);
    s.on(0, [&] { s.sim->spend(50'000 * ns); });
    for (const std::uint32_t other : {2u, 3u, 4u, 5u, 6u, 7u}) {
      s.on(other, [&] { s.sim->spend(99'000 * ns); });
    }
    s.waker_on(1);
    s.run();
    for (const auto& [step, at] : s.times) {
      if (step == "woken") {
        woken.push_back(at);
      }
    }
  }
  // It is ready at 15000, half a period behind the running thread: 5000. If that is less than the
  // margin it waits for the end of the slice, which began when it went to sleep.
  EXPECT_EQ(woken, (std::vector<std::uint64_t>{15'000, 21'100}));
}

/// Returns a machine of two processors under CFS: a woken thread is placed 3000 behind at most, and
/// preempts one that is 2500 ahead.
figures two_fair_processors() {
  figures f = round_figures();
  f.nodes_per_package = f.caches_per_node = 1;
  f.fair = 1;
  f.slice = 1'000 * ns;
  f.period = 6'000 * ns;
  f.wake_preempts = 2'500 * ns;
  return f;
}

TEST(Scheduler, AThreadWokenForAnotherQueueKeepsItsLag) {
  scenario s(two_fair_processors());
  s.sleeper_on(0);
  for (int i = 0; i < 2; ++i) {
    s.on(0, [&] { s.sim->spend(90'000 * ns); });
  }
  s.on(1, [&] {
    s.sim->spend(40'000 * ns);
    s.sim->wake(s.word, 1);
    s.sim->spend(50'000 * ns);
    s.note("waker");
  });
  s.run();
  // Two threads share processor 0 when it is woken at 40000, so that it is ready on the waker's, at
  // 45000. It slept while each of them ran for more than 3000, and preempts the waker.
  EXPECT_EQ(s.times, (times{{"woken", 45'000}, {"waker", 91'500}}));
}

TEST(Scheduler, AWokenThreadDoesNotPreemptOneWokenBefore) {
  figures f = two_fair_processors();
  f.slice = 20'000 * ns;
  scenario s(f);
  for (const char* name : {"first", "second"}) {
    s.on(0, [&s, name] {
      s.sim->move_to(0);
      s.sim->sleep(s.word, 0, ~std::uint64_t{0});
      s.sim->spend(10'000 * ns);
      s.note(name);
    });
  }
  s.on(0, [&] { s.sim->spend(50'000 * ns); });
  s.on(1, [&] {
    s.sim->spend(30'000 * ns);
    s.sim->wake(s.word, 2);
    s.sim->spend(90'000 * ns);
  });
  s.run();
  // Both are ready on processor 0 at 35000, 3000 behind the thread that runs: the first preempts it,
  // and the second has its turn when the first has ended.
  EXPECT_EQ(s.times, (times{{"first", 45'000}, {"second", 55'000}}));
}

TEST(Scheduler, WorkTakesLongerOnASlowCore) {
  figures f = round_figures();
  f.slow_cores = 1;
  f.slow_work = 1'700;
  scenario s(f);
  const std::uint32_t last = s.sim->on().cores() - 1;
  s.on(0, [&] {
    s.sim->work(1'000 * ns);
    s.note("fast");
  });
  s.on(last, [&] {
    s.sim->work(1'000 * ns);
    s.note("slow");
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"fast", 1'000}, {"slow", 1'700}}));
  EXPECT_EQ(s.sim->counted.working, 2'700 * ns);
}

TEST(Scheduler, ASleeperIsWoken) {
  scenario s(round_figures());
  s.sleeper_on(0);
  s.waker_on(1);
  s.run();
  // The wake is at 10000; it takes 1500, and the sleeper runs after 5000.
  EXPECT_EQ(s.times, (times{{"waker", 11'500}, {"woken", 15'000}}));
  EXPECT_EQ(s.sim->counted.sleeps, 1u);
}

TEST(Scheduler, AWakeOfAnotherProcessorIsAnInterrupt) {
  figures f = round_figures();
  f.interrupt = 2'000 * ns;
  f.interrupt_latency = 7'000 * ns;
  scenario s(f);
  s.sleeper_on(0);
  s.waker_on(1);
  s.run();
  // The wake is at 10000; it takes 1500 + 2000, and the sleeper runs after 5000 + 7000.
  EXPECT_EQ(s.times, (times{{"waker", 13'500}, {"woken", 22'000}}));
}

TEST(Scheduler, AWakeThatOnlyQueuesIsNoInterrupt) {
  figures f = round_figures();
  f.packages = f.nodes_per_package = f.caches_per_node = 1;
  f.interrupt = 2'000 * ns;
  f.wake_preempts = 1'000'000 * ns;
  scenario s(f);
  s.on(0, [&] { s.sim->sleep(s.word, 0, ~std::uint64_t{0}); });
  s.on(0, [&] { s.sim->spend(50'000 * ns); });
  s.waker_on(1);
  s.run();
  EXPECT_EQ(s.times, (times{{"waker", 11'500}}));
}

TEST(Scheduler, ADeepSleepEndsLate) {
  figures f = round_figures();
  f.idle_depth = 2'000 * ns;
  scenario s(f);
  s.sleeper_on(0);
  s.waker_on(1);
  s.run();
  EXPECT_EQ(s.times, (times{{"waker", 11'500}, {"woken", 65'000}}));
}

TEST(Scheduler, AThreadDoesNotSleepIfTheWordHasAnotherValue) {
  scenario s(round_figures());
  s.on(0, [&] {
    s.sim->sleep(s.word, 1, ~std::uint64_t{0});
    s.note("back");  // 100 for the word from memory, 300 for the call
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"back", 400}}));
  EXPECT_EQ(s.sim->counted.sleeps, 0u);
}

TEST(Scheduler, ADeadlineEndsASleep) {
  scenario s(round_figures());
  s.on(0, [&] {
    s.sim->sleep(s.word, 0, 20'000);
    s.note("late");  // 20000 + 5000
  });
  s.run();
  EXPECT_EQ(s.times, (times{{"late", 25'000}}));
}

TEST(Scheduler, CallsOnOneBucketQueue) {
  figures f = round_figures();
  f.futex_bucket = 200 * ns;
  scenario s(f);
  for (const std::uint32_t processor : {0u, 1u}) {
    s.on(processor, [&] {
      s.sim->wake(s.word, 1);
      s.note("woke none");
    });
  }
  s.run();
  EXPECT_EQ(s.times, (times{{"woke none", 500}, {"woke none", 700}}));
}

TEST(Scheduler, AWakeMayHoldTheBucket) {
  std::vector<times> recorded;
  for (const std::uint64_t holds : {0u, 1u}) {
    figures f = round_figures();
    f.futex_bucket = 200 * ns;
    f.wake_in_bucket = holds;
    scenario s(f);
    s.on(0, [&] { s.sim->sleep(s.word, 0, ~std::uint64_t{0}); });
    s.on(1, [&] {
      s.sim->spend(10'000 * ns);
      s.sim->wake(s.word, 1);
      s.note("woke one");
    });
    s.on(2, [&] {
      s.sim->spend(10'100 * ns);
      s.sim->wake(s.word, 1);
      s.note("woke none");
    });
    s.run();
    recorded.push_back(s.times);
  }
  // The first call has the bucket from 10000 to 10200 and wakes until 11700. The second has it from
  // 10200 or 11700 for 200, and then takes 300.
  EXPECT_EQ(recorded[0], (times{{"woke none", 10'700}, {"woke one", 11'700}}));
  EXPECT_EQ(recorded[1], (times{{"woke one", 11'700}, {"woke none", 12'200}}));
}

TEST(Scheduler, SkippingPollsChangesNoTime) {
  // The flag changes at 100 us.
  std::vector<times> recorded;
  std::vector<std::uint64_t> events;
  for (const std::uint64_t skip : {0u, 1u}) {
    figures f = round_figures();
    f.skip_polls = skip;
    scenario s(f);
    std::uint64_t polls = 0;
    s.on(0, [&] {
      while (s.load() == 0) {
        ++polls;
        s.sim->relax();
      }
      s.note("changed after " + std::to_string(polls) + " polls");
    });
    s.on(1, [&] {
      s.sim->spend(100'000 * ns);
      s.change();
    });
    s.run();
    recorded.push_back(s.times);
    events.push_back(s.sim->time.made());
  }
  EXPECT_EQ(recorded[0], recorded[1]);
  EXPECT_LT(events[1], 200u);
}

TEST(Scheduler, ACountOfPollsEndsLateByAnEighthAtMost) {
  figures f = round_figures();
  f.skip_polls = 1;
  scenario s(f);
  s.on(1, [&] { s.sim->spend(1'000'000 * ns); });
  s.on(0, [&] {
    s.load();
    s.sim->spend(0);
    const picoseconds began = s.sim->time.now;
    for (int i = 0; i < 1'000; ++i) {
      s.load();
      s.sim->relax();
    }
    s.sim->spend(0);
    s.times.emplace_back("polled", (s.sim->time.now - began) / ns);
  });
  s.run();
  ASSERT_EQ(s.times.size(), 1u);
  EXPECT_GE(s.times[0].second, 21'000u);
  EXPECT_LE(s.times[0].second, 21'000u * 9 / 8);
}

TEST(Scheduler, WorkingSetsThatDoNotFitMiss) {
  std::uint64_t misses = 0;
  machine m;
  m.use(round_figures());
  working_sets sets(working_sets::last_level(m), misses);
  const std::uint32_t a = sets.add(1 << 20);
  const std::uint32_t b = sets.add(1 << 20);
  // The first reads are from memory. One set fits; half of each fits if there are two.
  EXPECT_EQ(sets.read(a, 100, 0), 100 * 100 * ns);
  EXPECT_EQ(sets.read(a, 100, 0), 100 * 10 * ns);
  EXPECT_EQ(sets.read(b, 100, 0), 100 * 100 * ns);
  EXPECT_EQ(sets.read(a, 100, 0), 50 * 10 * ns + 50 * 100 * ns);
  // Another cache does not contain the set.
  EXPECT_EQ(sets.read(a, 100, 2), 100 * 100 * ns);
  EXPECT_EQ(misses, 350u);
}

}  // namespace
}  // namespace worked_examples
