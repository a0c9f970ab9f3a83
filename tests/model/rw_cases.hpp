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
  if constexpr (order == preference::readers) {
    cases.push_back({"prefers-readers", 2, make<rw_prefers_readers<L>>, settings});
  } else if constexpr (order != preference::none) {
    cases.push_back({"passes-no-writer", 2, make<rw_passes_no_writer<L>>, settings});
  }
  return cases;
}

}  // namespace lockwright::check
