#include "watch.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include "report.hpp"

namespace torture {
namespace {

// A lock with a passive set admits its oldest thread after a number of acquisitions, or by chance after
// about as many. The limit is three times that for each thread, and twenty times for chance: a
// false alarm has a probability of one in a hundred million.
constexpr std::uint64_t times_for_each = 3;
constexpr std::uint64_t times_for_luck = 20;
// A queue admits every thread once before any twice; only the time from announcing an acquisition
// to queueing is left to chance.
constexpr std::uint64_t turns_in_order = 20'000;
constexpr std::uint64_t times_patience = 3;
// A shorter wait may only mean that the thread was not running, however many acquisitions have passed.
constexpr std::uint64_t starved_after_ticks = 1'000'000'000 / phase_run::tick_ns;

}  // namespace

watch::watch(const phase_run& on)
    : on_{on}, waits_(on.workers().size()), traffic_(on.mutexes().size()) {}

void watch::look() {
  const std::uint64_t tick = on_.tick();
  for (const guarded& each : on_.mutexes()) {
    traffic& seen = traffic_[each.number];
    if (const std::uint64_t entries = each.entries(); entries != seen.entries) {
      seen = {entries, tick};
    }
  }
  std::uint64_t latest = 0;
  for (const worker& each : on_.workers()) {
    const activity what = each.now.load(std::memory_order_acquire);
    const std::uint64_t since = each.since.load(std::memory_order_relaxed);
    latest = std::max(latest, since);
    if (what == activity::absent || what == activity::halted ||
        what == activity::waits_for_others) {
      continue;
    }
    wait& seen = waits_[each.number - 1];
    if (seen.since != since) {
      const guarded* const with = each.with.load(std::memory_order_relaxed);
      seen = {since, with != nullptr ? with->entries() : 0};
    } else if (tick - since >= std::min(on_.patience_ticks(), starved_after_ticks) &&
               each.now.load() == what && each.since.load() == since) {
      judge(each, what, seen);
    }
  }
  // A thread may wait for another one that has returned, and whose end hangs.
  if (tick - latest >= times_patience * on_.patience_ticks()) {
    char waited[40];
    std::snprintf(waited, sizeof waited, "%.1f s", on_.seconds_since(latest));
    fail("progress", std::string("no thread has begun or ended an operation for ") + waited);
  }
}

void watch::judge(const worker& watched, activity what, const wait& seen) const {
  const std::uint64_t tick = on_.tick();
  char waited[40];
  std::snprintf(waited, sizeof waited, "%.1f s", on_.seconds_since(seen.since));
  const std::string who = "thread " + std::to_string(watched.number) + " (" + watched.role + ")";
  const guarded* const with = watched.with.load();
  const bool queues =
      what == activity::locks || what == activity::waits || what == activity::waits_by;
  const bool impatient = tick - seen.since >= on_.patience_ticks();
  if (!queues || with == nullptr) {
    if (!impatient) {
      return;
    }
    if (what == activity::locks_by) {
      fail("deadline",
           who + " still waits in a lock call whose deadline passed " + waited + " ago");
    }
    fail("progress", who + " makes no progress: it has been in one operation for " + waited);
  }
  const traffic& lately = traffic_[with->number];
  const std::string where = "mutex " + std::to_string(with->number);
  if (impatient && tick - lately.changed >= on_.patience_ticks()) {
    fail("progress", who + " has waited for " + waited + " and no thread acquires " + where);
  }
  // Other threads may acquire it forever, for instance waiters with a deadline whose signal was
  // lost. The check for starvation below then mostly reports the thread first.
  if (tick - seen.since >= times_patience * on_.patience_ticks() &&
      (!on_.plan.greedy || on_.over())) {
    fail("progress", who + " has waited for " + waited + " at " + where);
  }
  const std::uint64_t passed = with->entries() - seen.entries;
  const std::uint64_t threads = on_.workers().size();
  const std::uint64_t bound = on_.options.fifo
                                  ? turns_in_order
                                  : on_.options.turns * (times_for_luck + times_for_each * threads);
  if (passed >= bound && (on_.options.fifo || !on_.plan.greedy)) {
    fail("starvation", who + " has waited for " + waited + " while others acquired " + where + " " +
                           std::to_string(passed) + " times");
  }
}

}  // namespace torture
