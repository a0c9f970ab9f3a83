// A failing execution in words, one line for each step.
#pragma once

#include <cstdint>
#include <string>

#include "lockwright/env/model/relacy.hpp"

namespace lockwright::check {

struct explanation {
  std::string steps;        ///< one line each: number, thread, what it did, where in the source
  std::string end;          ///< what went wrong, in one line
  std::uint32_t count = 0;  ///< of the steps
};

/// The execution that model_env::history_now holds, which ended with `how`.
explanation explain_history(rl::test_result_e how, std::uint32_t threads);

}  // namespace lockwright::check
