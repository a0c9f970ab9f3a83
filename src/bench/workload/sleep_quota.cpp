// Threads that pass a token: two spin, while the others sleep until they replace one of the two.
#include <atomic>
#include <deque>
#include <vector>

#include "../meter/histogram.hpp"
#include "catalogue.hpp"
#include "lockless.hpp"
#include "lockwright/env/native.hpp"

namespace bench {
namespace {

enum waiting_mode : std::uint32_t { some_spin, all_spin, all_sleep };
constexpr std::uint32_t no_caller = 0;

// A thread. `call` is 0, or 1 + the place that it is called to.
struct alignas(cache_line_pair) runner {
  std::atomic<std::uint32_t> call{no_caller};
  alignas(cache_line_pair) std::atomic<std::uint64_t> passes{0};
  std::uint64_t longest_ns = 0;  // the longest sleep
  std::size_t index = 0;
};

struct relay {
  // The place whose turn it is: of two, or of all if all threads spin or sleep.
  alignas(cache_line_pair) std::atomic<std::uint32_t> turn{0};
  alignas(cache_line_pair) std::atomic<bool> over{false};
  waiting_mode how = some_spin;
  std::uint64_t quota = 0;
  std::vector<runner> runners;
  // Changed only by the thread whose turn it is.
  alignas(cache_line_pair) std::deque<runner*> resting;

  [[nodiscard]] bool ends() const { return over.load(std::memory_order_relaxed); }
};

void await_call(relay& r, runner& me) {
  const std::uint64_t from = now_ns();
  while (me.call.load() == no_caller && !r.ends()) {
    futex_wait(me.call, no_caller);
  }
  me.longest_ns = std::max(me.longest_ns, now_ns() - from);
}

void call(runner& one, std::uint32_t place) {
  one.call.store(place + 1);
  futex_wake(one.call, 1);
}

// Two spin; after `quota` handovers, one of them wakes another and sleeps.
void run_in_pairs(relay& r, runner& me) {
  if (me.index < 2) {
    me.call.store(static_cast<std::uint32_t>(me.index) + 1);
  }
  std::uint64_t passes = 0;
  while (!r.ends()) {
    await_call(r, me);
    if (r.ends()) {
      return;
    }
    const std::uint32_t place = me.call.exchange(no_caller) - 1;
    for (std::uint64_t spent = 0;; ++spent) {
      while (r.turn.load(std::memory_order_acquire) != place) {
        if (r.ends()) {
          return;
        }
        lockwright::native::relax();
      }
      if (spent >= r.quota && !r.resting.empty()) {
        // The next one takes this one's turn.
        runner* const next = r.resting.front();
        r.resting.pop_front();
        r.resting.push_back(&me);
        call(*next, place);
        break;
      }
      me.passes.store(++passes, std::memory_order_relaxed);
      r.turn.store(1 - place, std::memory_order_release);
    }
  }
}

void run_in_a_round(relay& r, runner& me) {
  const auto place = static_cast<std::uint32_t>(me.index);
  runner& next = r.runners[(me.index + 1) % r.runners.size()];
  std::uint64_t passes = 0;
  if (place == 0) {
    me.call.store(1);
  }
  for (;;) {
    if (r.how == all_sleep) {
      await_call(r, me);
    } else {
      while (me.call.load(std::memory_order_acquire) == no_caller && !r.ends()) {
        lockwright::native::relax();
      }
    }
    if (r.ends()) {
      return;
    }
    me.call.store(no_caller);
    me.passes.store(++passes, std::memory_order_relaxed);
    if (r.how == all_sleep) {
      call(next, 0);
    } else {
      next.call.store(1, std::memory_order_release);
    }
  }
}

std::uint64_t passes_of(const relay& r) {
  std::uint64_t sum = 0;
  for (const runner& one : r.runners) {
    sum += one.passes.load(std::memory_order_relaxed);
  }
  return sum;
}

int pass_token(const description& about, const settings& given) {
  static relay r;
  if (given.threads() < 2) {
    refuse("'--threads' is below 2; give more: a token is passed between two");
  }
  r.how = static_cast<waiting_mode>(given.count("way"));
  r.quota = given.count("quota", 1);
  r.runners = std::vector<runner>(given.threads());
  for (std::size_t i = 0; i < r.runners.size(); ++i) {
    r.runners[i].index = i;
    if (i >= 2) {
      r.resting.push_back(&r.runners[i]);
    }
  }
  std::deque<other_thread> threads;
  for (runner& one : r.runners) {
    threads.emplace_back(-1, [&] {
      given.pin(one.index);
      r.how == some_spin ? run_in_pairs(r, one) : run_in_a_round(r, one);
    });
  }
  for (other_thread& each : threads) {
    each.start();
  }
  const lockless_run run(given);
  sleep_ns(static_cast<std::uint64_t>(given.real("seconds") * 1e9));
  const std::uint64_t passes = passes_of(r);
  const double seconds = run.seconds();
  r.over.store(true);
  std::uint64_t longest = 0;
  for (runner& one : r.runners) {
    // The value changes, so no thread that is about to sleep misses it.
    one.call.store(1);
    futex_wake(one.call, 1);
  }
  for (other_thread& each : threads) {
    each.join();
  }
  for (const runner& one : r.runners) {
    longest = std::max(longest, one.longest_ns);
  }
  return run.end(about.name, passes, [&](result& line, double /*seconds*/) {
    line.field("hand_overs_per_second", static_cast<double>(passes) / seconds)
        .field("longest_sleep_ms", static_cast<double>(longest) / 1e6);
  });
}

}  // namespace

const description sleep_quota{
    .name = "sleep-quota",
    .measures =
        "threads that pass a token round, two of them spinning while the others sleep, until "
        "one of the two is replaced",
    .source = "Falsafi et al., Unlocking Energy, ATC 2016, figure 7 (sleep, spin, ss-1 to ss-1000)",
    .operation = "handovers",
    .threads = 4,
    .parameters = {{"way", some_spin, "", "the threads that spin: two, all, or none", 0,
                    "ss,spin,sleep"},
                   {"quota", 1000, "handovers",
                    "of a spinning thread, after which it wakes another and sleeps", 1}},
    .figures = {{"hand_overs_per_second", "handovers/s", "handovers per second"},
                {"longest_sleep_ms", "longest ms", "the longest that a thread slept", true}},
    .uses_lock = false,
    .run = pass_token,
};

}  // namespace bench
