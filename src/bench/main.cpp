// lockwright-bench: small workloads on plain pthread mutexes and condition variables.
//
// It uses no lock algorithm directly: run it alone to measure the C library, or with a library
// preloaded to measure that one. `lockwright bench` does both side by side and prints the
// comparison.
#include <cstdio>
#include <cstring>

#include "bench.hpp"
#include "workload/catalogue.hpp"
#include "workload/settings.hpp"

namespace {

struct workload {
  const char* name;
  int (*run)(int argc, char** argv);
  const char* measures;
};

constexpr workload workloads[] = {
    {"uncontended", bench::uncontended, "one thread, lock and unlock in a tight loop"},
    {"footprint", bench::footprint, "memory per mutex, per thread, and per pair of them"},
    {"handover", bench::handover, "threads that contend for one mutex"},
    {"herd", bench::herd, "a broadcast to many waiters of one condition variable"},
    {"oversubscribe", bench::oversubscribe,
     "threads that contend for one mutex: how long each waits, how steady its progress is"},
    {"park", bench::park, "two threads that put each other to sleep and wake each other by futex"},
    {"quiet-and-hot", bench::quiet_and_hot,
     "many mutexes with one thread each, one that all contend for, and one of two threads"},
    {"regimes", bench::regimes,
     "threads that contend in one pattern and then in another: bursts, queues, trylock loops"},
    {"rwlock", bench::rwlock, "readers and writers of one reader-writer lock"},
    {"pause", bench::pause,
     "how long a pause, an iteration of an empty loop and a reading of the clock take"},
    {"transfer", bench::transfer, "how long a cache line takes from one processor to another"},
    {"sleep", bench::sleep,
     "how long it takes to fall asleep, to wake another thread, and until that one runs"},
    {"accesses", bench::accesses,
     "how long accesses take to a processor's own cache lines and to those of another processor"},
    {"data", bench::data, "how long reads of large arrays take, and reads of many pages"},
    {"kernel", bench::kernel,
     "how long failed futex calls, yields, context switches and barriers take, and a time slice"},
    {"preempt", bench::preempt,
     "how long a woken thread waits for a processor on which another thread runs"},
    {"calibrate", bench::calibrate, "loops of busy work per microsecond, for --loops-per-us"},
};

int print_help(std::FILE* to) {
  std::fputs("usage: lockwright-bench WORKLOAD [--option value]...\n", to);
  for (const workload& w : workloads) {
    std::fprintf(to, "  %s: %s\n", w.name, w.measures);
  }
  for (const bench::description* w : bench::catalogue()) {
    std::fprintf(to, "  %s: %s\n", w->name, w->measures);
  }
  std::fputs("  describe: prints the workloads and their parameters as JSON lines\n", to);
  std::fputs("lockwright-bench WORKLOAD --help prints its options with their defaults.\n", to);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    bench::refuse("no workload named; run 'lockwright-bench help'");
  }
  if (std::strcmp(argv[1], "help") == 0 || std::strcmp(argv[1], "--help") == 0) {
    return print_help(stdout);
  }
  for (const workload& w : workloads) {
    if (std::strcmp(argv[1], w.name) == 0) {
      return w.run(argc - 2, argv + 2);
    }
  }
  if (std::strcmp(argv[1], "describe") == 0) {
    return bench::describe();
  }
  for (const bench::description* w : bench::catalogue()) {
    if (std::strcmp(argv[1], w->name) == 0) {
      return w->run(*w, bench::settings(*w, argc - 2, argv + 2));
    }
  }
  bench::refuse(std::string("unknown workload '") + argv[1] + "'; run 'lockwright-bench help'");
}
