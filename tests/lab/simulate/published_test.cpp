// Locks as their authors' programs have them, with times computed manually.
#include <gtest/gtest.h>

#include <cstdint>
#include <new>

#include "lockwright/env/simulated.hpp"
#include "lockwright/lock/mcs.hpp"
#include "published/libc.hpp"
#include "published/litl.hpp"
#include "published/mutexee.hpp"
#include "published/polling.hpp"
#include "worked_examples.hpp"

namespace worked_examples {
namespace {

using lockwright::simulated;

template <class Lock>
Lock& made(scenario& s) {
  return *::new (s.sim->memory.cut(256, 128)) Lock;
}

TEST(Published, TheCLibraryReadsTheKindBeforeItTries) {
  scenario s(round_figures());
  auto& mutex = made<normal_mutex<simulated>>(s);
  s.on(0, [&] {
    mutex.lock();
    mutex.unlock();
  });
  s.on(1, [&] {
    s.sim->spend(1'000 * ns);
    mutex.lock();
    s.note("has it");
    mutex.unlock();
    s.note("released it");
  });
  s.run();
  // To lock: the kind from the other core 40, the exchange 60 since that core keeps a copy, the
  // thread's number 1, the owner 1, the users 1 + 1. To unlock: the kind 1, the owner 1, the users
  // 1 + 1, the exchange 10.
  EXPECT_EQ(s.times, (times{{"has it", 1'104}, {"released it", 1'118}}));
}

TEST(Published, TheAdaptiveMutexTriesTenTimesAtFirst) {
  scenario s(round_figures());
  auto& mutex = made<adaptive_mutex<simulated>>(s);
  s.on(0, [&] {
    mutex.lock();
    s.sim->spend(100'000 * ns);
    mutex.unlock();
  });
  s.on(1, [&] {
    s.sim->spend(1'000 * ns);
    mutex.lock();
  });
  s.on(2, [&] {
    // The kernel refuses to sleep, since the word is 2.
    s.sim->spend(50'000 * ns);
    EXPECT_EQ(s.sim->counted.sleeps, 1u);
  });
  s.run();
  // The tries: the first one, ten after a pause each, and the one of the C library's sleeping half.
  EXPECT_EQ(s.sim->counted.pausing, 10 * 20 * ns);
}

TEST(Published, MutexeeUnlockWaitsForATakerBeforeItWakes) {
  scenario s(round_figures());
  auto& lock = made<published_mutexee<polling_with_barriers, lockwright::sleep_until_woken>>(s);
  s.on(0, [&] {
    lock.lock();
    // The waiter polls for 8192 cycles of 2.8 GHz, 2925 ns, and sleeps.
    s.sim->spend(20'000 * ns);
    EXPECT_EQ(s.sim->counted.sleeps, 1u);
    s.note("unlocks");
    lock.unlock();
    s.note("has woken");
  });
  s.on(1, [&] { lock.lock(); });
  s.run();
  ASSERT_EQ(s.times.size(), 2u);
  // 384 turns, and 1500 for the call that wakes; the rest are accesses to its lines.
  EXPECT_GE(s.times[1].second - s.times[0].second, 384u + 1'500u);
  EXPECT_LE(s.times[1].second - s.times[0].second, 384u + 1'500u + 300u);
}

TEST(Published, LitlWakesWaitersThatPoll) {
  scenario s(round_figures());
  auto& cell = made<wake_always<simulated>>(s);
  s.on(0, [&] {
    cell.arm();
    cell.wait();
    s.note("granted");
  });
  s.on(1, [&] {
    s.sim->spend(1'000 * ns);
    s.note("grants");
    cell.grant();
    s.note("has granted");
  });
  s.run();
  ASSERT_EQ(s.times.size(), 3u);
  EXPECT_EQ(s.sim->counted.sleeps, 0u);
  EXPECT_EQ(s.times[1].first, "granted");
  // The line 60, and a call that finds no sleeper 300.
  EXPECT_EQ(s.times[2], (std::pair<std::string, std::uint64_t>{"has granted", 1'360}));
}

TEST(Published, SkippingPollsWithoutPausesChangesNoTime) {
  std::vector<times> recorded;
  for (const std::uint64_t skip : {0u, 1u}) {
    figures f = round_figures();
    f.skip_polls = skip;
    scenario s(f);
    std::uint64_t polls = 0;
    s.on(0, [&] {
      while (s.load() == 0) {
        ++polls;
        polling_without_pauses::relax();
      }
      s.note("changed");
    });
    s.on(1, [&] {
      s.sim->spend(1'000 * ns);
      s.change();
    });
    s.run();
    EXPECT_EQ(s.sim->counted.pausing, 0u);
    // The first load is 75 from memory, then each poll 2 for a turn and a load.
    if (skip == 0) {
      EXPECT_GE(polls, (1'000u - 75u) / 2);
    } else {
      EXPECT_LT(polls, 10u);
    }
    recorded.push_back(s.times);
  }
  EXPECT_EQ(recorded[0], recorded[1]);
}

}  // namespace
}  // namespace worked_examples
