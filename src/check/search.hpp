// How far a program is searched within a budget of seconds.
#pragma once

#include <string>

#include "cases.hpp"

namespace lockwright::check {

struct finding {
  outcome what;
  std::string extent;  ///< how much was searched: "exhaustive", "bound=2" or "random"
};

/// Everything if that fits the budget, else up to as many forced switches as
/// fit; if not even one does, at random.
finding search_within(const test_case& c, double budget, bool trace);

/// Executions at random, as many as fit the budget.
outcome at_random(const test_case& c, double budget, bool trace);

/// A case that fails, in the execution with the fewest switches away from a
/// thread that could have continued, if one is found within the budget: it
/// is the easiest to follow. Else `found` unchanged.
outcome simplest_failure(const test_case& c, const outcome& found, double budget);

}  // namespace lockwright::check
