// Every workload, in the order in which they are shown.
#pragma once

#include "../../workload/description.hpp"

namespace bench {

using lockwright::workloads::description;

// Those that are written for this machine only, a file each, as a rule.
extern const description buffer_pool;
extern const description copy_on_write;
extern const description footprint;
extern const description futex_latency;
extern const description handover;
extern const description hash_set;
extern const description herd;
extern const description lazy_list_set;
extern const description malloc_stress;
extern const description object_wait;
extern const description oversubscribe;
extern const description quiet_and_hot;
extern const description regimes;
extern const description sleep_quota;
extern const description stress_latency;
extern const description waiting;

const std::vector<const description*>& catalogue();

// Prints those that are listed as JSON lines: one of kind "workload" for each, then those of kind
// "parameter", "preset" and "figure" that belong to it. Parameters of the workload "" are those of
// all.
int describe();

}  // namespace bench
