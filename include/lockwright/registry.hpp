// Every algorithm of registry.def as an alias over an environment:
// `mcs_spin_lock<native>`, `ticket_lock<native>`, and so on. A file that needs
// one algorithm includes its row instead: lockwright/row/mcs_spin.hpp.
#pragma once

#include "lockwright/rows.hpp"  // written by the build
