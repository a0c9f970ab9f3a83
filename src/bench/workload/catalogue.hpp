// Every workload that describes itself, in the order in which they are shown.
#pragma once

#include "description.hpp"

namespace bench {

// A file each, as a rule.
extern const description uncontested;
extern const description single_lock;
extern const description lockbench;
extern const description variable_contention;
extern const description random_array;
extern const description ring_walker;
extern const description stress_latency;
extern const description malloc_stress;
extern const description producer_consumer;
extern const description keymap;
extern const description lru_cache;
extern const description buffer_pool;
extern const description trylock_wait;
extern const description barrier;
extern const description many_locks;
extern const description convoy;
extern const description ping_pong;
extern const description migration;
extern const description futex_latency;
extern const description sleep_period;
extern const description waiting;
extern const description sleep_quota;
extern const description lazy_list_set;
extern const description hash_set;
extern const description copy_on_write;

const std::vector<const description*>& catalogue();

// Prints the catalogue as JSON lines: one of kind "workload" for each, then those of kind
// "parameter", "preset" and "figure" that belong to it. Parameters of the workload "" are those of
// all.
int describe();

}  // namespace bench
