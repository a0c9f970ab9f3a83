#include "search.hpp"

#include <utility>

namespace lockwright::check {
namespace {

/// True if the next bound exceeds the budget. Each additional forced switch multiplies the number of
/// executions by a falling factor: at least a third of the previous one, on all locks here.
bool next_bound_exceeds_budget(const outcome& last, std::uint64_t executions_before,
                               double budget) {
  constexpr double decline = 3;
  const double growth =
      static_cast<double>(last.executions) / static_cast<double>(executions_before);
  return last.seconds * growth / decline > budget;
}

}  // namespace

outcome at_random(const test_case& c, double budget, bool trace) {
  constexpr std::uint64_t more_than_fit = 1'000'000'000;
  outcome found =
      run(c.make_program, c.threads, {search::random, more_than_fit, budget}, c.settings, trace);
  if (found.result == outcome::out_of_time) {
    found.result = outcome::passed;
  }
  return found;
}

finding search_within(const test_case& c, double budget, bool trace) {
  model_env::settings settings = c.settings;
  settings.reduced = true;
  finding best{run(c.make_program, c.threads, {search::full, 0, budget}, settings, trace),
               "exhaustive"};
  if (best.what.result != outcome::out_of_time) {
    return best;
  }
  for (std::uint64_t bound = 0; bound < 8; ++bound) {
    outcome found =
        run(c.make_program, c.threads, {search::bound, bound, budget}, c.settings, trace);
    if (found.result == outcome::out_of_time) {
      break;
    }
    const std::uint64_t executions_before = best.what.executions;
    best = {std::move(found), "bound=" + std::to_string(bound)};
    if (best.what.result == outcome::failed ||
        (bound > 0 && next_bound_exceeds_budget(best.what, executions_before, budget))) {
      break;
    }
  }
  // Without any forced switch few executions are tried.
  const bool barely_searched = best.what.result == outcome::out_of_time || best.extent == "bound=0";
  if (barely_searched && best.what.result != outcome::failed) {
    best = {at_random(c, budget, trace), "random"};
  }
  return best;
}

outcome simplest_failure(const test_case& c, const outcome& found, double budget) {
  for (std::uint64_t bound = 0; bound < 4; ++bound) {
    outcome simple =
        run(c.make_program, c.threads, {search::bound, bound, budget}, c.settings, true);
    if (simple.result == outcome::failed) {
      return simple.steps <= found.steps ? simple : found;
    }
    if (simple.result == outcome::out_of_time) {
      break;
    }
  }
  return found;
}

}  // namespace lockwright::check
