// lockwright-bench: small workloads on plain pthread mutexes and condition variables.
//
// It uses no lock algorithm directly: run it alone to measure the C library, or with a library
// preloaded to measure that one. `lockwright bench` does both side by side and prints the
// comparison. It has the probes of lockwright-calibrate, too.
#include <cstdio>
#include <cstring>

#include "../calibrate/probes.hpp"
#include "workload/catalogue.hpp"
#include "workload/settings.hpp"

namespace {

int print_help(std::FILE* to) {
  std::fputs("usage: lockwright-bench WORKLOAD [--option value]...\n", to);
  for (const bench::probe& w : bench::probes()) {
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
  if (std::strcmp(argv[1], "describe") == 0) {
    return bench::describe();
  }
  if (const bench::probe* const one = bench::find_probe(argv[1])) {
    return bench::run(*one, argc - 2, argv + 2);
  }
  for (const bench::description* w : bench::catalogue()) {
    if (std::strcmp(argv[1], w->name) == 0) {
      return w->run(*w, bench::settings(*w, argc - 2, argv + 2));
    }
  }
  bench::refuse(std::string("unknown workload '") + argv[1] + "'; run 'lockwright-bench help'");
}
