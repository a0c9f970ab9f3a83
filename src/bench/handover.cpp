// Threads that contend for one mutex: how fast it changes hands, and what the kernel has to do.
#include <algorithm>
#include <memory>
#include <vector>

#include "bench.hpp"
#include "tally.hpp"

namespace bench {
namespace {

struct arena {
  alignas(apart) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  // Written under the mutex only, by plain instructions: if it falls behind the sum of the
  // tallies, two threads were inside at once.
  alignas(apart) std::uint64_t guarded = 0;
  alignas(apart) std::atomic<bool> stop{false};
  gate start;
  std::uint64_t section_loops = 0;
  std::uint64_t gap_loops = 0;
};

struct contender {
  arena* shared;
  tally* own;
  pthread_t thread;
};

void* contend(void* at) {
  auto* const me = static_cast<contender*>(at);
  arena& a = *me->shared;
  std::uint64_t done = 0;
  a.start.pass();
  while (!a.stop.load(std::memory_order_relaxed)) {
    must(pthread_mutex_lock(&a.mutex), "pthread_mutex_lock");
    const std::uint64_t before = a.guarded;
    spin_loops(a.section_loops);
    a.guarded = before + 1;
    must(pthread_mutex_unlock(&a.mutex), "pthread_mutex_unlock");
    me->own->acquisitions.store(++done, std::memory_order_relaxed);
    spin_loops(a.gap_loops);
  }
  return nullptr;
}

}  // namespace

int handover(int argc, char** argv) {
  const options given(argc, argv,
                      {{"threads", 2},
                       {"seconds", 0.5},
                       {"section-ns", 100},
                       {"gap-ns", 200},
                       {"loops-per-us", 0}});
  const std::uint64_t threads = given.count("threads", 1);
  const double seconds = given.real("seconds");
  const work_scale scale(given.real("loops-per-us"));
  static arena a;
  a.section_loops = scale.loops(given.real("section-ns"));
  a.gap_loops = scale.loops(given.real("gap-ns"));

  const std::unique_ptr<tally[]> tallies(new tally[threads]);
  std::vector<contender> crew(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    crew[i] = {&a, &tallies[i], {}};
    must(pthread_create(&crew[i].thread, nullptr, contend, &crew[i]), "pthread_create");
  }
  a.start.await(static_cast<std::uint32_t>(threads));
  const switches before = switches_so_far();
  const double used_before = processor_seconds_so_far();
  const std::uint64_t started = now_ns();
  a.start.open();
  sleep_ns(static_cast<std::uint64_t>(seconds * 1e9));

  // The count is taken here, before the threads are told to stop: where every hand-over waits
  // for a time slice, the last round alone can take longer than the measurement.
  const std::vector<std::uint64_t> counted = read_tallies(tallies.get(), threads);
  const std::uint64_t elapsed = now_ns() - started;
  const double used = processor_seconds_so_far() - used_before;
  const switches after = switches_so_far();
  a.stop.store(true);
  result measured("handover", "measured");
  measured.field("threads", threads)
      .field("seconds", static_cast<double>(elapsed) / 1e9)
      .field("processor_seconds", used)
      .field("acquisitions", sum(counted))
      .field("least", *std::min_element(counted.begin(), counted.end()))
      .field("most", *std::max_element(counted.begin(), counted.end()))
      .field("voluntary", after.voluntary - before.voluntary)
      .field("involuntary", after.involuntary - before.involuntary);
  add_origin(measured);
  measured.print();

  for (const contender& c : crew) {
    must(pthread_join(c.thread, nullptr), "pthread_join");
  }
  const std::vector<std::uint64_t> final = read_tallies(tallies.get(), threads);
  result("handover", "final")
      .field("acquisitions", sum(final))
      .field("guarded", a.guarded)
      .field("per_thread", final)
      .print();
  return 0;
}

}  // namespace bench
