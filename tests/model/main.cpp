// model-check: runs the locks through the checker and prints a table.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "locks.hpp"
#include "mutants.hpp"
#include "search.hpp"

namespace lockwright::check {
namespace {

struct options {
  std::string mode = "locks";
  std::string only;                    ///< a lock's name; all when empty
  std::string scenario;                ///< all when empty
  std::uint32_t threads = 0;           ///< 2 to 5; all when 0
  double budget = 10;                  ///< seconds for a search
  std::string line;                    ///< mutants of this "file:line" only
  std::vector<std::string> explained;  ///< "file:line change" of mutants searched briefly only
  bool trace = false;
};

bool is_selected(const options& o, const test_case& c) {
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
      if (!is_selected(o, c)) {
        continue;
      }
      const finding f = search_within(c, o.budget, o.trace);
      const bool passed = f.what.result == outcome::passed;
      failures += passed ? 0 : 1;
      std::printf("%-12s %-20s %7u %13llu  %-11s %8.2f  %s\n", s.name, c.name, c.threads,
                  static_cast<unsigned long long>(f.what.executions), f.extent.c_str(),
                  f.what.seconds,
                  passed                                  ? "passed"
                  : f.what.result == outcome::out_of_time ? "OUT OF TIME"
                                                          : f.what.problem.c_str());
      std::fputs(f.what.trace.c_str(), stdout);
      std::fflush(stdout);
    }
  }
  return failures == 0 ? 0 : 1;
}

using case_list = std::vector<const test_case*>;

case_list selected_cases(const options& o, const case_list& cases) {
  case_list selected = cases;
  std::erase_if(selected, [&o](const test_case* c) { return !is_selected(o, *c); });
  return selected;
}

/// Returns the first case that finds the fault, and the problem; empty if none does, and `cases`
/// are then those that may find it in a longer search. A case too long for a full search is also
/// searched at random. With more than three threads it always is, and for longer.
std::string caught_by(case_list& cases, double budget, bool trace) {
  case_list undecided;
  for (const test_case* c : cases) {
    const bool too_long = c->threads > 3;
    outcome found;
    if (!too_long) {
      model_env::settings settings = c->settings;
      settings.reduced = true;
      found = run(c->make_program, c->threads, {search::full, 0, budget}, settings, trace);
      if (found.result == outcome::passed) {
        continue;
      }
    }
    if (too_long || found.result == outcome::out_of_time) {
      found = at_random(*c, too_long ? 4 * budget : budget, trace);
    }
    if (found.result == outcome::failed) {
      return std::string(c->name) + "/" + std::to_string(c->threads) + ": " + found.problem +
             (trace ? "\n" + found.trace : "");
    }
    undecided.push_back(c);
  }
  cases = undecided;
  return "";
}

int check_broken(const options& o) {
  int missed = 0;
  for (const subject& s : broken_locks()) {
    if (!o.only.empty() && o.only != s.name) {
      continue;
    }
    case_list cases;
    for (const test_case& c : s.cases) {
      cases.push_back(&c);
    }
    cases = selected_cases(o, cases);
    const std::string found = caught_by(cases, o.budget, o.trace);
    missed += found.empty() ? 1 : 0;
    std::printf("%-24s %s\n", s.name, found.empty() ? "MISSED" : found.c_str());
    std::fflush(stdout);
  }
  return missed == 0 ? 0 : 1;
}

/// Searches each case briefly first, by which most faults are found.
std::string caught_by(const mutant& m, const options& o) {
  constexpr double part = 0.1;
  case_list cases = selected_cases(o, m.reached_by);
  std::string found = caught_by(cases, o.budget * part, o.trace);
  const std::string name = location_of(m.what) + " " + change_of(m.what);
  if (found.empty() && std::ranges::find(o.explained, name) == o.explained.end()) {
    found = caught_by(cases, o.budget, o.trace);
  }
  return found;
}

int check_mutants(const options& o) {
  for (const subject& s : registered_locks()) {
    if (!o.only.empty() && o.only != s.name) {
      continue;
    }
    unsigned caught = 0;
    unsigned survived = 0;
    for (const mutant& m : mutants_of(s)) {
      if (!o.line.empty() && o.line != location_of(m.what)) {
        continue;
      }
      model_env::planted = m.what;
      const std::string found = caught_by(m, o);
      model_env::planted = {};
      ++(found.empty() ? survived : caught);
      const std::string mutant =
          location_of(m.what) + " " + operation_of(m.what) + " " + change_of(m.what);
      std::printf("%-15s %-90s  %s\n", s.name, mutant.c_str(),
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
               "[--scenario NAME] [--threads N] [--budget SECONDS] [--trace] "
               "[--at FILE:LINE] [--explained 'FILE:LINE CHANGE']...\n",
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
    } else if (arg == "--at") {
      o.line = value();
    } else if (arg == "--explained") {
      o.explained.emplace_back(value());
    } else if (arg == "--trace") {
      o.trace = true;
    } else if (arg == "locks" || arg == "broken" || arg == "mutants" || arg == "names") {
      o.mode = arg;
    } else {
      usage("unknown argument");
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
