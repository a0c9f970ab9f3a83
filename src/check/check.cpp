// Runs the programs of one lock through the checker, for `lockwright check`.
//
//   check --list                                          the scenarios and their threads
//   check [--threads N] [--scenario NAME] [--budget S]    one line for each that begins and ends
//
// Lines for a program to read, their fields divided by tabs:
//   scenario  NAME  THREADS                                        with --list
//   begin     NAME  THREADS
//   end       NAME  THREADS  INTERLEAVINGS  EXTENT  SECONDS  passed|failed|unknown
//   step      one line of the failing execution                    after all others
//   problem   NAME  THREADS  what went wrong in it

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>

#include "one_lock.hpp"
#include "search.hpp"

namespace lockwright::check {
namespace {

struct options {
  std::string scenario;       ///< all when empty
  std::uint32_t threads = 0;  ///< any number when 0
  double budget = 10;
  bool list = false;
};

struct failure {
  test_case where;
  outcome what;
};

void show_steps(const failure& f) {
  std::istringstream lines(f.what.trace);
  for (std::string line; std::getline(lines, line);) {
    std::printf("step\t%s\n", line.c_str());
  }
  std::printf("problem\t%s\t%u\t%s\n", f.where.name, f.where.threads, f.what.problem.c_str());
}

int check(const options& o) {
  std::optional<failure> shortest;
  for (const test_case& c : cases_of_the_lock()) {
    if ((o.threads != 0 && o.threads != c.threads) ||
        (!o.scenario.empty() && o.scenario != c.name)) {
      continue;
    }
    if (o.list) {
      std::printf("scenario\t%s\t%u\n", c.name, c.threads);
      continue;
    }
    std::printf("begin\t%s\t%u\n", c.name, c.threads);
    std::fflush(stdout);
    finding f = search_within(c, o.budget, true);
    const char* verdict = f.what.result == outcome::passed   ? "passed"
                          : f.what.result == outcome::failed ? "failed"
                                                             : "unknown";
    std::printf("end\t%s\t%u\t%llu\t%s\t%.2f\t%s\n", c.name, c.threads,
                static_cast<unsigned long long>(f.what.executions), f.extent.c_str(),
                f.what.seconds, verdict);
    std::fflush(stdout);
    if (f.what.result == outcome::failed) {
      outcome simple = simplest_failure(c, f.what, o.budget);
      if (!shortest || simple.steps < shortest->what.steps) {
        shortest = failure{c, std::move(simple)};
      }
    }
  }
  if (shortest) {
    show_steps(*shortest);
  }
  return shortest ? 1 : 0;
}

}  // namespace
}  // namespace lockwright::check

int main(int argc, char** argv) {
  lockwright::check::options o;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (arg == "--list") {
      o.list = true;
      continue;
    }
    if (arg == "--threads") {
      o.threads = static_cast<std::uint32_t>(std::atoi(value));
    } else if (arg == "--scenario") {
      o.scenario = value;
    } else if (arg == "--budget") {
      o.budget = std::atof(value);
    } else {
      std::fprintf(stderr, "check: unknown argument %s\n", arg.c_str());
      return 2;
    }
    ++i;
  }
  return lockwright::check::check(o);
}
