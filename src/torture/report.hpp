// What the program says: one JSON object a line on standard output for whoever drives it, and, when
// the lock has failed, the state of everything on standard error for a person.
#pragma once

#include <cstdint>
#include <string>

#include "../programs/json_line.hpp"
#include "plan.hpp"
#include "settings.hpp"

namespace torture {

class stage;

// For the messages: what is going on. Null for nothing.
void announce(const settings* given, const phase* current, const stage* on);

// Prints what failed, the phase, what every thread does, the bytes of the mutexes and the stacks,
// and ends the process with status 1. Of several threads the first one is heard.
[[noreturn]] void fail(const char* check, const std::string& what);

// Turns a crash into a failure with all of that. What the address belongs to, if anything of ours,
// is asked first.
void catch_crashes(bool (*is_ours)(const void* address));

// Leaves the process to nobody: when its parent ends, it is killed. False if that has happened.
bool follow(int parent);

class line : public lockwright::programs::json_line {
 public:
  explicit line(const char* kind) { field("kind", std::string_view(kind)); }
};

}  // namespace torture
