// model-check: runs the locks through the checker and prints a table.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "locks.hpp"
#include "mutants.hpp"
#include "search.hpp"

namespace lockwright::check {
namespace {

struct options {
  std::string mode = "locks";
  std::string only;           ///< a lock's name; all when empty
  std::string scenario;       ///< likewise
  std::uint32_t threads = 0;  ///< 2 or 3; both when 0
  double budget = 10;         ///< seconds for a search
  bool trace = false;
};

bool wanted(const options& o, const test_case& c) {
  return (o.threads == 0 || o.threads == c.threads) && (o.scenario.empty() || o.scenario == c.name);
}

int check_locks(const options& o) {
  int failures = 0;
  std::printf("%-12s %-20s %7s %13s  %-11s %8s  %s\n", "algorithm", "scenario", "threads",
              "interleavings", "extent", "seconds", "verdict");
  for (const subject& s : registered_locks()) {
    if (!o.only.empty() && o.only != s.name) {
      continue;
    }
    for (const test_case& c : s.cases) {
      if (!wanted(o, c)) {
        continue;
      }
      const finding f = search_within(c, o.budget, o.trace);
      const bool good = f.what.result == outcome::passed;
      failures += good ? 0 : 1;
      std::printf("%-12s %-20s %7u %13llu  %-11s %8.2f  %s\n", s.name, c.name, c.threads,
                  static_cast<unsigned long long>(f.what.executions), f.extent.c_str(),
                  f.what.seconds,
                  good                                    ? "passed"
                  : f.what.result == outcome::out_of_time ? "OUT OF TIME"
                                                          : f.what.problem.c_str());
      std::fputs(f.what.trace.c_str(), stdout);
      std::fflush(stdout);
    }
  }
  return failures == 0 ? 0 : 1;
}

/// The first case that finds the fault, and what it finds. What is too long to
/// be searched in order is also searched at random.
std::string caught_by(const subject& s, const options& o) {
  for (const test_case& c : s.cases) {
    if (!wanted(o, c)) {
      continue;
    }
    model_env::world world = c.world;
    world.reduced = true;
    outcome found = run(c.make_program, c.threads, {search::full, 0, o.budget}, world, o.trace);
    if (found.result == outcome::out_of_time) {
      found = at_random(c, o.budget, o.trace);
    }
    if (found.result == outcome::failed) {
      return std::string(c.name) + "/" + std::to_string(c.threads) + ": " + found.problem +
             (o.trace ? "\n" + found.trace : "");
    }
  }
  return "";
}

int check_broken(const options& o) {
  int missed = 0;
  for (const subject& s : broken_locks()) {
    if (!o.only.empty() && o.only != s.name) {
      continue;
    }
    const std::string found = caught_by(s, o);
    missed += found.empty() ? 1 : 0;
    std::printf("%-24s %s\n", s.name, found.empty() ? "MISSED" : found.c_str());
    std::fflush(stdout);
  }
  return missed == 0 ? 0 : 1;
}

int check_mutants(const options& o) {
  for (const subject& s : registered_locks()) {
    if (!o.only.empty() && o.only != s.name) {
      continue;
    }
    unsigned caught = 0;
    unsigned survived = 0;
    for (const model_env::mutation& m : mutants_of(s)) {
      model_env::planted = m;
      const std::string found = caught_by(s, o);
      model_env::planted = {};
      ++(found.empty() ? survived : caught);
      std::printf("%-15s %-90s  %s\n", s.name, describe(m).c_str(),
                  found.empty() ? "survived" : found.c_str());
      std::fflush(stdout);
    }
    std::printf("%-15s caught %u, survived %u\n", s.name, caught, survived);
  }
  return 0;
}

int print_names() {
  for (const subject& s : registered_locks()) {
    std::puts(s.name);
  }
  return 0;
}

[[noreturn]] void usage(const char* problem) {
  std::fprintf(stderr,
               "model-check: %s; use: model-check [locks|broken|mutants|names] [--only NAME] "
               "[--scenario NAME] [--threads N] [--budget SECONDS] [--trace]\n",
               problem);
  std::exit(2);
}

options read(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    auto value = [&] { return i + 1 < argc ? argv[++i] : (usage("a value is missing"), ""); };
    if (arg == "--only") {
      o.only = value();
    } else if (arg == "--scenario") {
      o.scenario = value();
    } else if (arg == "--threads") {
      o.threads = static_cast<std::uint32_t>(std::atoi(value()));
    } else if (arg == "--budget") {
      o.budget = std::atof(value());
    } else if (arg == "--trace") {
      o.trace = true;
    } else if (arg == "locks" || arg == "broken" || arg == "mutants" || arg == "names") {
      o.mode = arg;
    } else {
      usage("an argument is not known");
    }
  }
  return o;
}

}  // namespace
}  // namespace lockwright::check

int main(int argc, char** argv) {
  using namespace lockwright::check;
  const options o = read(argc, argv);
  if (o.mode == "broken") {
    return check_broken(o);
  }
  if (o.mode == "names") {
    return print_names();
  }
  return o.mode == "mutants" ? check_mutants(o) : check_locks(o);
}
