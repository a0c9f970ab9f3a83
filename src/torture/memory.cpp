#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "clock.hpp"
#include "footprint.hpp"
#include "phase_run.hpp"
#include "phases.hpp"
#include "report.hpp"

namespace torture {
namespace {

// A kind of operation; each thread does the same number in every window.
struct operation {
  const char* name;
  void (*once)(worker& me, worker& child);
  std::uint64_t count_per_thread;
  // The least growth per operation that counts as a leak.
  std::uint64_t bytes_each;
};

void lock_once(worker& me, worker&) {
  guarded& it = me.run.any_mutex(me);
  it.lock(me);
  it.unlock(me);
}

void wait_once(worker& me, worker&) {
  guarded& it = me.run.any_mutex(me);
  condition never_signalled(CLOCK_MONOTONIC);
  it.lock(me);
  it.wait_within(me, never_signalled, 0);
  it.unlock(me);
  if (it.lock_within(me, 0)) {
    it.unlock(me);
  }
}

void init_and_destroy(worker& me, worker&) {
  pthread_mutex_t made;
  must(pthread_mutex_init(&made, nullptr), "pthread_mutex_init");
  must(pthread_mutex_lock(&made), "pthread_mutex_lock");
  must(pthread_mutex_unlock(&made), "pthread_mutex_unlock");
  must(pthread_mutex_destroy(&made), "pthread_mutex_destroy");
  me.does(activity::between);
}

void start_and_join(worker& me, worker& child) {
  me.run.start_helper(child, [](worker& it) { lock_once(it, it); });
  me.does(activity::waits_for_others);
  me.run.join_helper(child);
  me.does(activity::between);
}

constexpr operation operations[] = {{"acquisition", lock_once, 6'000, 16},
                                    {"wait", wait_once, 2'000, 64},
                                    {"mutex", init_and_destroy, 3'000, 32},
                                    {"thread", start_and_join, 60, 1024}};

// The first window fills caches; memory must not grow in the others.
constexpr int windows = 4;
// Less may come from pages touched for the first time.
constexpr std::uint64_t least_bytes = 96 << 10;
// A window ends after this time and is judged by the operations done.
constexpr std::uint64_t longest_window = 400 * ms;
constexpr std::uint64_t max_workers = 4;

struct windows_state {
  alignas(cache_line_pair) std::atomic<std::uint32_t> window{0};  // odd while it is open
  std::atomic<const operation*> task{nullptr};                    // null: the threads end
  alignas(cache_line_pair) std::atomic<std::uint32_t> busy{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> time_is_up{false};
  std::uint32_t workers = 0;
};

void do_tasks(worker& me, windows_state& state, worker& child) {
  for (std::uint32_t window = 0;; window += 2) {
    me.does(activity::halted);
    while (state.window.load() == window) {
      futex_wait(state.window, window);
    }
    const operation* const task = state.task.load();
    if (task == nullptr) {
      return;
    }
    me.does(activity::between);
    std::uint64_t done = 0;
    while (done < task->count_per_thread && !state.time_is_up.load(std::memory_order_relaxed)) {
      task->once(me, child);
      ++done;
    }
    state.done.fetch_add(done);
    me.does(activity::halted);
    state.busy.fetch_sub(1);
    while (state.window.load() == window + 1) {
      futex_wait(state.window, window + 1);
    }
  }
}

void step(windows_state& state) {
  state.window.fetch_add(1);
  futex_wake(state.window);
}

// Runs one window and returns by how many bytes memory grew.
std::int64_t growth(windows_state& state, const operation& task, std::uint64_t& done) {
  const std::uint64_t before = measure_footprint().bytes;
  state.task.store(&task);
  state.done.store(0);
  state.time_is_up.store(false);
  state.busy.store(state.workers);
  const std::uint64_t began = now();
  step(state);
  while (state.busy.load() != 0) {
    sleep_ns(ms);
    state.time_is_up.store(now() - began > longest_window);
  }
  step(state);
  done = state.done.load();
  return static_cast<std::int64_t>(measure_footprint().bytes - before);
}

void check_memory(const operation& task, windows_state& state) {
  bool leaks = true;
  std::string grew;
  for (int i = 0; i < windows; ++i) {
    std::uint64_t done = 0;
    const std::int64_t bytes = growth(state, task, done);
    const std::uint64_t bound = std::max(least_bytes, done * task.bytes_each);
    if (i > 0) {
      leaks = leaks && bytes >= static_cast<std::int64_t>(bound);
      grew += (i > 1 ? ", " : "") + std::to_string(bytes) + " bytes in " + std::to_string(done);
    }
  }
  if (leaks) {
    fail("memory", std::string("memory grows with each ") + task.name + ": by " + grew);
  }
}

void measure_windows(worker& me, windows_state& state) {
  me.does(activity::waits_for_others);
  // At least once, even if the phase is already over.
  do {
    for (const operation& task : operations) {
      check_memory(task, state);
    }
  } while (!me.run.over());
  state.task.store(nullptr);
  step(state);
}

}  // namespace

void memory(phase_run& on) {
  const auto state = std::make_shared<windows_state>();
  state->workers = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(std::min(on.plan.threads, processors()), 2, max_workers));
  on.add_worker("measurer", [state](worker& me) { measure_windows(me, *state); });
  for (std::uint32_t i = 0; i < state->workers; ++i) {
    worker& child = on.add_helper("child");
    on.add_worker("worker", [state, &child](worker& me) { do_tasks(me, *state, child); });
  }
}

}  // namespace torture
