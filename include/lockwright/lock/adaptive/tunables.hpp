// The tunables of `adaptive`.
#pragma once

#include <cstdint>

#include "lockwright/tunable.hpp"

namespace lockwright {

struct adaptive_tunables {
  static constexpr tunable most_pollers{
      .name = "pollers",
      .default_value = 0,
      .counted_in = unit::count,
      .min = 0,
      .max = 7,
      .model_value = 1,
      .meaning = "how many threads may poll at a time; 0: one, or two from 8 processors on",
      .source = "the Go runtime's mutex polls with one (Go 1.24, lock_spinbit.go)"};
  static constexpr tunable suppressed_wakes{
      .name = "suppressed-wakes",
      .default_value = 8,
      .counted_in = unit::count,
      .min = 0,
      .max = 15,
      .model_value = 1,
      .meaning =
          "after how many unlocks in a row that rely on a thread on its way the clock is read; 0: "
          "every unlock wakes a sleeper",
      .source = "a reading costs as much as a few unlocks"};
  static constexpr tunable overdue{
      .name = "overdue-ns",
      .default_value = 1'000'000,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = std::uint64_t{1} << 40,
      .model_value = 1,
      .meaning = "after which time a thread that is on its way counts as preempted",
      .source = "several times as long as one that runs polls and naps"};
  static constexpr tunable naps{
      .name = "naps",
      .default_value = 3,
      .counted_in = unit::count,
      .min = 0,
      .max = 1'000,
      .model_value = 1,
      .meaning =
          "how often a woken thread that has polled in vain sleeps for `nap-ns`, and polls again, "
          "before it goes back to the stack, from where an unlock has to wake it",
      .source = "a wake costs the holder several microseconds, and a nap nothing"};
  static constexpr tunable more_heirs{
      .name = "more-heirs",
      .default_value = 8,
      .counted_in = unit::count,
      .min = 0,
      .max = 1 << 20,
      .model_value = 1,
      .meaning =
          "from how many processors on an unlock wakes a sleeper although another is on its way, "
          "if the last two found the lock free; 0: never",
      .source = "a wake takes as long as tens of short sections, in which other processors idle"};
  static constexpr tunable nap{.name = "nap-ns",
                               .default_value = 50'000,
                               .counted_in = unit::nanoseconds,
                               .min = 1,
                               .max = std::uint64_t{1} << 40,
                               .model_value = 1'000,
                               .meaning = "the length of a nap",
                               .source = "about what a woken thread takes to run"};
  static constexpr tunable yields{
      .name = "yields",
      .default_value = 16,
      .counted_in = unit::count,
      .min = 0,
      .max = 1 << 20,
      .model_value = 1,
      .meaning =
          "how often a waiter lets other threads run before it sleeps; not on a mutex with a "
          "condition variable",
      .source = "`lockwright bench regret`: 12 gain less, and 40 cost more processor time"};
  static constexpr tunable courtesy{
      .name = "courtesy-ns",
      .default_value = 0,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = std::uint64_t{1} << 40,
      .model_value = 1,
      .meaning =
          "how long a lock in high demand has to stay free before a waiter takes it at once; 0: at "
          "two looks, some 40 ns apart",
      .source = "`lockwright bench regret`: 90 takes gaps of 100 ns for none"};
  static constexpr tunable tenure{
      .name = "tenure-ns",
      .default_value = 300'000,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = std::uint64_t{1} << 40,
      .model_value = 8,
      .meaning = "how long a waiter leaves a lock in high demand to its holder",
      .source = "`lockwright bench regret`: 60 us lose more in empty sections"};
  static constexpr tunable patience{
      .name = "patience-ns",
      .default_value = 4'000'000,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = std::uint64_t{1} << 40,
      .model_value = 1'000,
      .meaning = "within which time a batch of sleepers is served, one after the other",
      .source = "about a time slice of the kernel's scheduler"};
  static constexpr tunable pace{
      .name = "pace-ns",
      .default_value = 500'000,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = std::uint64_t{1} << 40,
      .model_value = 1'000,
      .meaning = "the shortest time between two sleepers that are served because they are due",
      .source = "many times what a sleep and a wake cost, so that they cost a few per cent"};
  static constexpr tunable recheck{
      .name = "recheck-ns",
      .default_value = 1'000'000,
      .counted_in = unit::nanoseconds,
      .min = 1'000,
      .max = 1'000'000'000,
      .model_value = 1'000'000,
      .meaning = "how long the first sleeper sleeps before it looks again, at first",
      .source = "less than a time slice of the kernel's scheduler"};
  static constexpr tunable local_depth{
      .name = "local-depth",
      .default_value = 16,
      .counted_in = unit::count,
      .min = 0,
      .max = 1'000,
      .model_value = 2,
      .meaning =
          "how many of the last sleepers an unlock searches for one of the NUMA node that the "
          "lock prefers, if there are several nodes; 0: it prefers none",
      .source = "about the processors of a node"};
  static constexpr tunable backoff{
      .name = "backoff",
      .default_value = 2'720,
      .counted_in = unit::turns,
      .min = 0,
      .max = 1 << 19,
      .model_value = 1,
      .meaning =
          "the longest delay between two attempts to push a node, for each processor, after two "
          "that failed; delays double up to it, from a sixteenth; 0: none",
      .source =
          "`lockwright simulate`, 384 and 512 processors: each may have an attempt under way"};
  static constexpr tunable poll_budget{
      .name = "poll-ns",
      .default_value = 10'000,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = std::uint64_t{1} << 40,
      .model_value = 0,
      .meaning =
          "how long a waiter polls before it sleeps, to begin with; the lock adapts it "
          "between an eighth of that and twice as much",
      .source =
          "about what a sleep and a wake take (Karlin et al., SOSP 1991); `lockwright bench "
          "park` measures it"};
  static constexpr tunable_list<15> tunables{
      &most_pollers, &poll_budget, &suppressed_wakes, &overdue,  &more_heirs,
      &naps,         &nap,         &yields,           &courtesy, &tenure,
      &patience,     &pace,        &recheck,          &backoff,  &local_depth};
};

}  // namespace lockwright
