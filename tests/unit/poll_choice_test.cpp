// When a thread polls before it sleeps, by a clock and waits that are made.
#include "preload/poll_choice.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

/// Time passes by relax() only, and as a test says.
struct made {
  static inline std::uint64_t time = 1;
  static inline std::uint32_t processors = 2;
  static std::uint64_t now() { return time; }
  static void relax() { time += 100; }
  static std::uint32_t cpus() { return processors; }
};

using choice = lockwright::preload::poll_choice<made>;

class PollChoice : public ::testing::Test {
 protected:
  void SetUp() override {
    made::time = 1;
    made::processors = 2;
  }

  /// A wait with a sleep of 50 us, and then `run_ns` with some signals.
  static void sleep(choice& of, std::uint64_t run_ns, int signals) {
    made::time += 50'000;
    of.end(false, true);
    made::time += run_ns;
    for (int i = 0; i < signals; ++i) {
      of.note_signal();
    }
  }

  /// Returns how many of the waits begin with a poll, after `sleeps` sleeps; none of these is met.
  static int polls_of(choice& of, int waits) {
    int polls = 0;
    for (int i = 0; i < waits; ++i) {
      const bool begins = of.begin(&condition);
      if (begins) {
        ++polls;
        of.poll_while([] { return true; });
      }
      made::time += 50'000;
      of.end(begins, true);
      made::time += 500;
      of.note_signal();
    }
    return polls;
  }

  /// A thread that has learnt that waits are short.
  static choice hasty() {
    choice made_of;
    for (int i = 0; i < 200; ++i) {
      EXPECT_FALSE(i < 10 && made_of.begin(&condition));
      if (i >= 10 && made_of.begin(&condition)) {
        made_of.leave();
      }
      sleep(made_of, 500, 1);
    }
    return made_of;
  }

  static inline int condition = 0;
};

TEST_F(PollChoice, no_thread_polls_before_it_has_slept) {
  choice fresh;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_FALSE(fresh.begin(&condition));
    made::time += 100;
  }
}

TEST_F(PollChoice, a_thread_that_passes_each_item_on_polls) {
  choice of = hasty();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(of.begin(&condition)) << i;
    int looks = 0;
    of.poll_while([&looks] { return ++looks < 3; });
    of.end(true, false);
    made::time += 500;
    of.note_signal();
  }
}

TEST_F(PollChoice, it_sleeps_after_two_milliseconds) {
  choice of = hasty();
  const std::uint64_t begin = made::time;
  while (of.begin(&condition)) {
    of.poll_while([] { return false; });
    of.end(true, false);
    made::time += 500;
    ASSERT_LT(made::time - begin, 3'000'000u);
  }
  EXPECT_GT(made::time - begin, 1'900'000u);
  sleep(of, 500, 1);
  EXPECT_TRUE(of.begin(&condition));
  of.leave();
}

TEST_F(PollChoice, a_thread_for_which_others_get_ahead_does_not_poll) {
  choice of = hasty();
  for (int i = 0; i < 4; ++i) {
    if (of.begin(&condition)) {
      of.leave();
    }
    sleep(of, 500, 100);
  }
  EXPECT_FALSE(of.begin(&condition));
}

TEST_F(PollChoice, a_thread_that_works_for_long_does_not_poll) {
  choice of = hasty();
  if (of.begin(&condition)) {
    of.leave();
  }
  sleep(of, 100'000, 1);
  EXPECT_FALSE(of.begin(&condition));
}

TEST_F(PollChoice, polls_without_a_signal_become_rare) {
  choice of = hasty();
  EXPECT_GE(polls_of(of, 64), 4);
  EXPECT_LE(polls_of(of, 640), 11);
}

TEST_F(PollChoice, one_thread_polls_at_a_time) {
  choice first = hasty();
  choice second = hasty();
  first.end(false, true);
  second.end(false, true);
  made::time += 500;
  ASSERT_TRUE(first.begin(&condition));
  EXPECT_FALSE(second.begin(&condition));
  first.leave();
  EXPECT_TRUE(second.begin(&condition));
  // The end of a poll is known, so that one which a fork has cut off keeps nobody out.
  made::time += 100'000;
  EXPECT_TRUE(first.begin(&condition));
  first.leave();
}

TEST_F(PollChoice, none_polls_on_one_processor) {
  choice of = hasty();
  made::processors = 1;
  EXPECT_FALSE(of.begin(&condition));
}

}  // namespace
