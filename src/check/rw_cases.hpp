// The scenarios of each reader-writer lock.
#pragma once

#include <vector>

#include "cases.hpp"
#include "rw_scenarios.hpp"

namespace lockwright::check {

template <class L>
std::vector<test_case> rw_cases() {
  model_env::settings settings;
  settings.impatient = true;
  if constexpr (requires { L::common_bytes; }) {
    settings.common_bytes = L::common_bytes;
  }
  model_env::settings early = settings;
  early.spurious = true;
  std::vector<test_case> cases{
      {"writers", 2, make<rw_mixed<L, 2, false, 'w', 'w'>>, settings},
      {"exclusion", 2, make<rw_mixed<L, 2, false, 'w', 'r'>>, settings},
      {"early-wake", 2, make<rw_mixed<L, 1, false, 'w', 'r'>>, early},
      {"early-wake-writers", 2, make<rw_mixed<L, 1, false, 'w', 'w'>>, early},
      {"writers-first", 2, make<rw_mixed<L, 2, true, 'w', 'w'>>, settings},
      {"both-ways", 2, make<rw_both_ways<L>>, settings},
      {"together", 2, make<rw_together<L>>, settings},
      {"recursive", 2, make<rw_recursive<L>>, settings},
      {"tries", 2, make<rw_tries<L>>, settings},
      {"timed-reader", 2, make<rw_timed<L, 'w', 'R'>>, settings},
      {"timed-writer", 2, make<rw_timed<L, 'w', 'W'>>, settings},
      {"timed-behind-reader", 2, make<rw_timed<L, 'r', 'W'>>, settings},
      {"in-time", 2, make<rw_in_time<L>>, settings},
      {"last-user-destroys", 2, make<rw_last_user_destroys<L, 2>>, settings},
      {"writers", 3, make<rw_mixed<L, 1, false, 'w', 'w', 'w'>>, settings},
      {"exclusion", 3, make<rw_mixed<L, 1, false, 'w', 'w', 'r'>>, settings},
      {"readers", 3, make<rw_mixed<L, 1, false, 'w', 'r', 'r'>>, settings},
      {"writers-first", 3, make<rw_mixed<L, 1, true, 'w', 'w', 'r'>>, settings},
      {"recursive", 3, make<rw_recursive<L>>, settings},
      {"passing", 3, make<rw_passing<L>>, settings},
      {"timed-writer", 3, make<rw_timed<L, 'r', 'W', 'r'>>, settings},
      {"timed-writers", 3, make<rw_timed<L, 'w', 'W', 'r'>>, settings},
      {"timed-reader", 3, make<rw_timed<L, 'w', 'R', 'r'>>, settings},
      {"timed", 3, make<rw_timed<L, 'w', 'W', 'R'>>, settings},
      {"timed-front-writer", 4, make<rw_timed<L, 'w', 'w', 'W', 'w'>>, settings},
      {"last-user-destroys", 3, make<rw_last_user_destroys<L, 3>>, settings},
  };

  constexpr preference order = L::traits.preference;
  if constexpr (requires { L::has_patience; }) {
    // In the model its patience may end at once.
  } else if constexpr (order == preference::readers) {
    cases.push_back({"prefers-readers", 2, make<rw_prefers_readers<L>>, settings});
  } else if constexpr (order != preference::none) {
    cases.push_back({"passes-no-writer", 2, make<rw_passes_no_writer<L>>, settings});
  }
  if constexpr (L::traits.distributed_readers) {
    cases.push_back({"readers-twice", 2, make<rw_mixed<L, 2, false, 'r', 'r'>>, settings});
    cases.push_back({"after-use", 2, make<rw_after_use<L, 1, 'w', 'r'>>, settings});
    cases.push_back({"after-use-twice", 2, make<rw_after_use<L, 2, 'w', 'r'>>, settings});
    cases.push_back({"reads-again", 2, make<rw_reads_again<L>>, settings});
    // Threads 0 and 2 have one counter.
    cases.push_back({"after-use", 3, make<rw_after_use<L, 1, 'r', 'w', 'r'>>, settings});
    cases.push_back({"after-use-writers", 3, make<rw_after_use<L, 1, 'w', 'w', 'r'>>, settings});
    cases.push_back({"after-use-twice", 3, make<rw_after_use<L, 2, 'w', 'w', 'r'>>, settings});
    cases.push_back({"unlocked-by-another", 2, make<rw_unlocked_by_another<L>>, settings});
  }
  if constexpr (requires { L::bytes_outside(); }) {
    model_env::settings full = settings;
    full.short_of_memory = true;
    cases.push_back({"no-memory", 2, make<rw_mixed<L, 2, false, 'w', 'r'>>, full});
    cases.push_back({"no-memory-tries", 2, make<rw_tries<L>>, full});
    cases.push_back({"no-memory-timed", 3, make<rw_timed<L, 'w', 'W', 'R'>>, full});
    cases.push_back({"no-memory-destroys", 2, make<rw_last_user_destroys<L, 2>>, full});
  }
  if constexpr (L::traits.numa_aware) {
    model_env::settings one_node = settings;
    one_node.nodes = 1;
    model_env::settings migrating = settings;
    migrating.migrates = true;
    cases.push_back({"writers-1-node", 2, make<rw_mixed<L, 2, false, 'w', 'w'>>, one_node});
    cases.push_back({"exclusion-1-node", 3, make<rw_mixed<L, 1, false, 'w', 'w', 'r'>>, one_node});
    cases.push_back({"migrating", 2, make<rw_mixed<L, 2, false, 'w', 'w'>>, migrating});
  }
  return cases;
}

}  // namespace lockwright::check
