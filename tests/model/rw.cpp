// The scenarios of the reader-writer lock, which is not in the registry.
#include "rw_scenarios.hpp"

#include "locks.hpp"

namespace lockwright::check {

subject reader_writer_lock() {
  model_env::settings settings;
  settings.impatient = true;
  model_env::settings early = settings;
  early.spurious = true;
  return {"phase-fair",
          {
              {"writers", 2, make<rw_mixed<2, false, 'w', 'w'>>, settings},
              {"exclusion", 2, make<rw_mixed<2, false, 'w', 'r'>>, settings},
              {"early-wake", 2, make<rw_mixed<1, false, 'w', 'r'>>, early},
              {"early-wake-writers", 2, make<rw_mixed<1, false, 'w', 'w'>>, early},
              {"writers-first", 2, make<rw_mixed<2, true, 'w', 'w'>>, settings},
              {"both-ways", 2, make<rw_both_ways>, settings},
              {"together", 2, make<rw_together>, settings},
              {"recursive", 2, make<rw_recursive>, settings},
              {"tries", 2, make<rw_tries>, settings},
              {"timed-reader", 2, make<rw_timed<'w', 'R'>>, settings},
              {"timed-writer", 2, make<rw_timed<'w', 'W'>>, settings},
              {"timed-behind-reader", 2, make<rw_timed<'r', 'W'>>, settings},
              {"in-time", 2, make<rw_in_time>, settings},
              {"last-user-destroys", 2, make<rw_last_user_destroys<2>>, settings},
              {"writers", 3, make<rw_mixed<1, false, 'w', 'w', 'w'>>, settings},
              {"exclusion", 3, make<rw_mixed<1, false, 'w', 'w', 'r'>>, settings},
              {"readers", 3, make<rw_mixed<1, false, 'w', 'r', 'r'>>, settings},
              {"writers-first", 3, make<rw_mixed<1, true, 'w', 'w', 'r'>>, settings},
              {"recursive", 3, make<rw_recursive>, settings},
              {"passing", 3, make<rw_passing>, settings},
              {"timed-writer", 3, make<rw_timed<'r', 'W', 'r'>>, settings},
              {"timed-writers", 3, make<rw_timed<'w', 'W', 'r'>>, settings},
              {"timed-reader", 3, make<rw_timed<'w', 'R', 'r'>>, settings},
              {"timed", 3, make<rw_timed<'w', 'W', 'R'>>, settings},
              {"timed-door", 4, make<rw_timed<'w', 'w', 'W', 'w'>>, settings},
              {"last-user-destroys", 3, make<rw_last_user_destroys<3>>, settings},
          }};
}

}  // namespace lockwright::check
