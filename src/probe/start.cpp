// The library's constructor. Mutexes may have been locked before it runs.
#include "probe/state.hpp"

namespace {

[[gnu::constructor]] void start() { lockwright::probe::prepare(); }

}  // namespace
