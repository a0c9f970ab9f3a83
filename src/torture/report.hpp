// The program's output: one JSON object per line on standard output for the calling program and, if
// the lock has failed, the complete state on standard error for the user.
#pragma once

#include <string>

#include "../programs/json_line.hpp"
#include "plan.hpp"
#include "settings.hpp"

namespace torture {

class phase_run;

// Sets the phase that messages name; null for none.
void announce(const settings* given, const phase* current, const phase_run* on);

// Prints the failure, the phase, each thread's activity, the bytes of the mutexes and the stacks,
// and ends the process with status 1. If several threads fail, only the first one reports.
[[noreturn]] void fail(const char* check, const std::string& what);

// Reports a crash as such a failure; `is_ours` says whether the address is in a retired mutex.
void catch_crashes(bool (*is_ours)(const void* address));

// Has the kernel kill this process when its parent ends. False if the parent has ended already.
bool end_with(int parent);

class line : public lockwright::programs::json_line {
 public:
  explicit line(const char* kind) { field("kind", std::string_view(kind)); }
};

}  // namespace torture
