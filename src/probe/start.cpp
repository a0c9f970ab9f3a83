// The library's constructor. Mutexes may have been locked before it runs.
#include "interpose/deep_binding.hpp"
#include "probe/state.hpp"

const bool lockwright::interpose::replaces_objects = false;

namespace {

[[gnu::constructor]] void start() { lockwright::probe::prepare(); }
[[gnu::destructor]] void end() { lockwright::probe::finish(); }

}  // namespace
