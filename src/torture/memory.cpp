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
struct work {
  const char* name;
  void (*once)(worker& me, worker& child);
  std::uint64_t amount;  // per thread
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

void make_and_end(worker& me, worker&) {
  pthread_mutex_t made;
  must(pthread_mutex_init(&made, nullptr), "pthread_mutex_init");
  must(pthread_mutex_lock(&made), "pthread_mutex_lock");
  must(pthread_mutex_unlock(&made), "pthread_mutex_unlock");
  must(pthread_mutex_destroy(&made), "pthread_mutex_destroy");
  me.does(act::between);
}

void start_and_join(worker& me, worker& child) {
  me.run.start_helper(child, [](worker& it) { lock_once(it, it); });
  me.does(act::directs);
  me.run.join_helper(child);
  me.does(act::between);
}

constexpr work works[] = {{"acquisition", lock_once, 6'000, 16},
                          {"wait", wait_once, 2'000, 64},
                          {"mutex", make_and_end, 3'000, 32},
                          {"thread", start_and_join, 60, 1024}};

// The first window fills caches; memory must not grow in the others.
constexpr int windows = 4;
// Less may come from pages touched for the first time.
constexpr std::uint64_t least_bytes = 96 << 10;
// A window ends after this time and is judged by the operations done.
constexpr std::uint64_t longest_window = 400 * ms;
constexpr std::uint64_t max_workers = 4;

struct accounts {
  alignas(apart) std::atomic<std::uint32_t> window{0};  // odd while it is open
  std::atomic<const work*> task{nullptr};               // null: the threads end
  alignas(apart) std::atomic<std::uint32_t> busy{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> enough{false};
  std::uint32_t workers = 0;
};

void do_tasks(worker& me, accounts& in, worker& child) {
  for (std::uint32_t window = 0;; window += 2) {
    me.does(act::halted);
    while (in.window.load() == window) {
      futex_wait(in.window, window);
    }
    const work* const task = in.task.load();
    if (task == nullptr) {
      return;
    }
    me.does(act::between);
    std::uint64_t done = 0;
    while (done < task->amount && !in.enough.load(std::memory_order_relaxed)) {
      task->once(me, child);
      ++done;
    }
    in.done.fetch_add(done);
    me.does(act::halted);
    in.busy.fetch_sub(1);
    while (in.window.load() == window + 1) {
      futex_wait(in.window, window + 1);
    }
  }
}

void step(accounts& in) {
  in.window.fetch_add(1);
  futex_wake(in.window);
}

// Runs one window and returns by how many bytes memory grew.
std::int64_t growth(accounts& in, const work& task, std::uint64_t& done) {
  const std::uint64_t before = measure_footprint().bytes;
  in.task.store(&task);
  in.done.store(0);
  in.enough.store(false);
  in.busy.store(in.workers);
  const std::uint64_t began = now();
  step(in);
  while (in.busy.load() != 0) {
    sleep_ns(ms);
    in.enough.store(now() - began > longest_window);
  }
  step(in);
  done = in.done.load();
  return static_cast<std::int64_t>(measure_footprint().bytes - before);
}

void check_memory(const work& task, accounts& in) {
  bool leaks = true;
  std::string grew;
  for (int i = 0; i < windows; ++i) {
    std::uint64_t done = 0;
    const std::int64_t bytes = growth(in, task, done);
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

void measure_windows(worker& me, accounts& in) {
  me.does(act::directs);
  // At least once, even if the phase is already over.
  do {
    for (const work& task : works) {
      check_memory(task, in);
    }
  } while (!me.run.over());
  in.task.store(nullptr);
  step(in);
}

}  // namespace

void memory(phase_run& on) {
  const auto in = std::make_shared<accounts>();
  in->workers = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(std::min(on.plan.threads, processors()), 2, max_workers));
  on.add_worker("measurer", [in](worker& me) { measure_windows(me, *in); });
  for (std::uint32_t i = 0; i < in->workers; ++i) {
    worker& child = on.add_helper("child");
    on.add_worker("worker", [in, &child](worker& me) { do_tasks(me, *in, child); });
  }
}

}  // namespace torture
