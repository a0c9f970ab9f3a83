// One thread wakes another at a fixed period: do such short sleeps save anything?
#include <atomic>

#include "catalogue.hpp"
#include "lockless.hpp"

namespace bench {
namespace {

struct shared_word {
  alignas(cache_line_pair) std::atomic<std::uint32_t> calls{0};
  alignas(cache_line_pair) std::atomic<std::uint64_t> slept{0};
  std::atomic<bool> over{false};
  gate start;
};

void* sleep_again(void* at) {
  auto& w = *static_cast<shared_word*>(at);
  w.start.pass();
  std::uint64_t slept = 0;
  while (!w.over.load(std::memory_order_relaxed)) {
    futex_wait(w.calls, w.calls.load());
    w.slept.store(++slept, std::memory_order_relaxed);
  }
  return nullptr;
}

int wake_each_period(const description& about, const settings& given) {
  static shared_word w;
  const auto length = static_cast<std::uint64_t>(given.real("seconds") * 1e9);
  const std::uint64_t loops = settings::loops_of_cycles(given.real("period-cycles"));
  pthread_t sleeper;
  must(pthread_create(&sleeper, nullptr, sleep_again, &w), "pthread_create");
  given.pin(0);
  w.start.await(1);
  w.start.open();
  const lockless_run run(given);
  std::uint64_t periods = 0;
  std::uint64_t woken = 0;
  for (const std::uint64_t began = now_ns(); now_ns() - began < length; ++periods) {
    spin_loops(loops);
    w.calls.fetch_add(1);
    woken += futex_wake(w.calls, 1) > 0 ? 1 : 0;
  }
  run.end(about.name, periods, [&](result& line, double seconds) {
    line.field("wakes_per_second", static_cast<double>(woken) / seconds)
        .field("asleep_share", static_cast<double>(woken) / static_cast<double>(periods));
  });
  w.over.store(true);
  w.calls.fetch_add(1);
  futex_wake(w.calls, 1);
  must(pthread_join(sleeper, nullptr), "pthread_join");
  return 0;
}

}  // namespace

const description sleep_period{
    .name = "sleep-period",
    .measures = "a thread that sleeps, and one that wakes it at a fixed period",
    .source =
        "Falsafi et al., Unlocking Energy, ATC 2016, section 4.4, the table of power by period",
    .operation = "wake calls",
    .threads = 2,
    .parameters = {{"period-cycles", 1024, "cycles",
                    "work between two wake calls; the paper has 1024 to 8192"}},
    .figures = {{"wakes_per_second", "wakes/s", "calls that found the thread asleep, per second"},
                {"asleep_share", "asleep", "share of the wake calls that found it asleep"}},
    .uses_lock = false,
    .run = wake_each_period,
};

}  // namespace bench
