#include "probes.hpp"

#include <cstring>

namespace bench {
namespace {

// A comparison takes this once and passes the figure to every process, so that a disturbed reading
// cannot favour one lock.
int busy_work(const options& /*given*/) {
  result("calibrate", "result").field("loops_per_us", calibrate_loops_per_us()).print();
  return 0;
}

}  // namespace

const std::vector<probe>& probes() {
  static const parameter first{"cpu-a", 0};
  static const parameter second{"cpu-b", 1};
  static const parameter any_first{"cpu-a", -1};
  static const parameter any_second{"cpu-b", -1};
  static const std::vector<probe> all = {
      {"uncontended",
       uncontended,
       "one thread, lock and unlock in a tight loop",
       {{"batch", 100000}, {"batches", 20}, {"threads-alive", 1}}},
      {"park",
       park,
       "two threads that put each other to sleep and wake each other by futex",
       {{"trips", 20000}, any_first, any_second}},
      {"pause",
       pause,
       "how long a pause, an iteration of an empty loop and a reading of the clock take",
       {{"steps", 2000}}},
      {"transfer",
       transfer,
       "how long a cache line takes from one processor to another",
       {{"trips", 20000}, first, second}},
      {"sleep",
       sleep,
       "how long it takes to fall asleep, to wake another thread, and until that one runs",
       {{"naps", 500}, {"seconds", 1}, {"delay-ns", 0}, any_first, any_second}},
      {"accesses",
       accesses,
       "how long accesses take to a processor's own cache lines and to those of another processor",
       {{"rounds", 500}, first, second}},
      {"data",
       data,
       "how long reads of large arrays take, and reads of many pages",
       {{"trials", 5},
        {"words", 262144},
        {"pages", 8192},
        {"memory-mib", 256},
        {"most-mib", 64},
        any_first,
        any_second}},
      {"kernel",
       kernel,
       "how long failed futex calls, yields, context switches and barriers take, and a time slice",
       {{"batches", 100}, {"seconds", 0.3}, first, second}},
      {"preempt",
       preempt,
       "how long a woken thread waits for a processor on which another thread runs",
       {{"naps", 50}, {"delay-ns", 100000}, first, second}},
      {"calibrate", busy_work, "loops of busy work per microsecond, for --loops-per-us", {}},
  };
  return all;
}

const probe* find_probe(const char* name) {
  for (const probe& one : probes()) {
    if (std::strcmp(name, one.name) == 0) {
      return &one;
    }
  }
  return nullptr;
}

int run(const probe& one, int argc, char** argv) {
  options given(argc, argv);
  given.add(one.parameters);
  given.complete();
  return one.run(given);
}

}  // namespace bench
