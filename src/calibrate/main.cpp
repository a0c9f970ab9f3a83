// lockwright-calibrate: durations of this machine's operations, one probe a run, as JSON lines.
//
// `lockwright calibrate` derives the locks' settings and a machine file from them.
#include <cstdio>
#include <cstring>

#include "probes.hpp"

int main(int argc, char** argv) {
  if (argc < 2 || std::strcmp(argv[1], "help") == 0 || std::strcmp(argv[1], "--help") == 0) {
    std::FILE* const to = argc < 2 ? stderr : stdout;
    std::fputs("usage: lockwright-calibrate PROBE [--option value]...\n", to);
    for (const bench::probe& one : bench::probes()) {
      std::fprintf(to, "  %s: %s\n", one.name, one.measures);
    }
    return argc < 2 ? 2 : 0;
  }
  const bench::probe* const one = bench::find_probe(argv[1]);
  if (one == nullptr) {
    bench::refuse(std::string("unknown probe '") + argv[1] + "'; run 'lockwright-calibrate help'");
  }
  return bench::run(*one, argc - 2, argv + 2);
}
