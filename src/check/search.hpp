// The search through a program within a budget of seconds.
#pragma once

#include <string>

#include "cases.hpp"

namespace lockwright::check {

struct finding {
  outcome what;
  std::string extent;  ///< how much was searched: "exhaustive", "bound=2" or "random"
};

/// Searches everything if that fits the budget, else up to as many forced switches as fit; if
/// not even one does, at random.
finding search_within(const test_case& c, double budget, bool trace);

/// Runs as many executions at random as fit the budget.
outcome at_random(const test_case& c, double budget, bool trace);

/// Returns the failing execution with the fewest switches away from a thread that could have
/// continued, which is the easiest to follow, if one is found within the budget, else `found`.
outcome simplest_failure(const test_case& c, const outcome& found, double budget);

}  // namespace lockwright::check
