// When the library has been loaded. A mutex may have been taken before.
#include "probe/state.hpp"

namespace {

[[gnu::constructor]] void start() { lockwright::probe::prepare(); }

}  // namespace
