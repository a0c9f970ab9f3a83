// The simulated machine with what the authors' programs do between two polls.
#pragma once

#include <cstdint>

#include "lockwright/env/simulated.hpp"

namespace lockwright::simulate {

/// LPD-EPFL/lockin builds its locks with PAUSE_IN=3 (scripts/make_all_stress_tests.sh): a full
/// barrier, during which the processor saves power. On Ivy Bridge it takes 33 cycles (A. Fog,
/// Instruction tables).
struct polling_with_barriers : simulated {
  static void relax() { simulated_env::relax_for(33, true); }
};

/// HPDCS/libmutlock polls in an empty loop (src/utils/spin_utils.h,
/// src/queued-spinlock/queued_spinlock.c).
struct polling_without_pauses : simulated {
  static void relax() { simulated_env::relax_for(1, false); }
};

}  // namespace lockwright::simulate
