// The text of a failing execution, one line for each step.
#pragma once

#include <cstdint>
#include <string>

#include "lockwright/env/model/relacy.hpp"

namespace lockwright::check {

struct explanation {
  std::string steps;        ///< one line each: number, thread, step, source line
  std::string end;          ///< the problem, in one line
  std::uint32_t count = 0;  ///< number of steps
};

/// Explains the execution in model_env::history_now, which ended with `how`.
explanation explain_history(rl::test_result_e how, std::uint32_t threads);

}  // namespace lockwright::check
