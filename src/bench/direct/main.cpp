// lockwright-bench-direct: workloads of lockwright-bench, the same source, on the locks' headers
// directly. Figures under a preload library are worse by the cost of the pthread functions.
#include <cstdio>
#include <cstring>
#include <string>

#include "direct.hpp"

namespace bench {

// One source file each, which the build writes.
#define LOCKWRIGHT_LOCK(name, identifier, ...) extern const direct_lock& direct_##identifier;
#include "lockwright/counted.def"
#undef LOCKWRIGHT_LOCK

namespace {

// The rows of LOCKWRIGHT_COUNTED, in their order.
const direct_lock* find(const char* wanted) {
#define LOCKWRIGHT_LOCK(name, identifier, ...) \
  if (std::strcmp(wanted, name) == 0) {        \
    return &direct_##identifier;               \
  }
#include "lockwright/counted.def"
#undef LOCKWRIGHT_LOCK
  return nullptr;
}

int print_help() {
  std::puts("usage: lockwright-bench-direct LOCK WORKLOAD [--option value]...");
  std::puts("  LOCK: one that 'lockwright list' shows");
  for (const description* w : direct_workloads) {
    std::printf("  %s: %s\n", w->name, w->measures);
  }
  return 0;
}

int run(const direct_lock& lock, int argc, char** argv) {
  for (std::size_t i = 0; i < direct_workloads.size(); ++i) {
    if (std::strcmp(argv[0], direct_workloads[i]->name) == 0) {
      description about = *direct_workloads[i];
      about.run = lock.runs[i];
      about.lock_header = lock.header;
      const settings given(about, argc - 1, argv + 1);
      for (const char* meter : {"latency", "admissions"}) {
        if (given.is(meter)) {
          refuse(std::string("no meters are compiled in; leave out '--") + meter + "'");
        }
      }
      return about.run(about, given);
    }
  }
  refuse(std::string("no workload '") + argv[0] + "'; run 'lockwright-bench-direct help'");
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  if (argc == 2 && (std::strcmp(argv[1], "help") == 0 || std::strcmp(argv[1], "--help") == 0)) {
    return bench::print_help();
  }
  if (argc < 3) {
    bench::refuse("no lock and workload named; run 'lockwright-bench-direct help'");
  }
  const bench::direct_lock* const lock = bench::find(argv[1]);
  if (lock == nullptr) {
    bench::refuse(std::string("no lock '") + argv[1] + "'; 'lockwright list' shows them");
  }
  return bench::run(*lock, argc - 2, argv + 2);
}
