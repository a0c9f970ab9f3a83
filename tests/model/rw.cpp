// The scenarios of the reader-writer lock, which is not in the registry.
#include "rw_scenarios.hpp"

#include "locks.hpp"

namespace lockwright::check {

subject reader_writer_lock() {
  model_env::world world;
  world.impatient = true;
  model_env::world early = world;
  early.spurious = true;
  return {"phase-fair",
          {
              {"writers", 2, make<rw_mixed<2, false, 'w', 'w'>>, world},
              {"exclusion", 2, make<rw_mixed<2, false, 'w', 'r'>>, world},
              {"early-wake", 2, make<rw_mixed<1, false, 'w', 'r'>>, early},
              {"early-wake-writers", 2, make<rw_mixed<1, false, 'w', 'w'>>, early},
              {"writers-first", 2, make<rw_mixed<2, true, 'w', 'w'>>, world},
              {"both-ways", 2, make<rw_both_ways>, world},
              {"together", 2, make<rw_together>, world},
              {"recursive", 2, make<rw_recursive>, world},
              {"tries", 2, make<rw_tries>, world},
              {"timed-reader", 2, make<rw_timed<'w', 'R'>>, world},
              {"timed-writer", 2, make<rw_timed<'w', 'W'>>, world},
              {"timed-behind-reader", 2, make<rw_timed<'r', 'W'>>, world},
              {"in-time", 2, make<rw_in_time>, world},
              {"last-user-destroys", 2, make<rw_last_user_destroys<2>>, world},
              {"writers", 3, make<rw_mixed<1, false, 'w', 'w', 'w'>>, world},
              {"exclusion", 3, make<rw_mixed<1, false, 'w', 'w', 'r'>>, world},
              {"readers", 3, make<rw_mixed<1, false, 'w', 'r', 'r'>>, world},
              {"writers-first", 3, make<rw_mixed<1, true, 'w', 'w', 'r'>>, world},
              {"recursive", 3, make<rw_recursive>, world},
              {"passing", 3, make<rw_passing>, world},
              {"timed-writer", 3, make<rw_timed<'r', 'W', 'r'>>, world},
              {"timed-writers", 3, make<rw_timed<'w', 'W', 'r'>>, world},
              {"timed-reader", 3, make<rw_timed<'w', 'R', 'r'>>, world},
              {"timed", 3, make<rw_timed<'w', 'W', 'R'>>, world},
              {"timed-door", 4, make<rw_timed<'w', 'w', 'W', 'w'>>, world},
              {"last-user-destroys", 3, make<rw_last_user_destroys<3>>, world},
          }};
}

}  // namespace lockwright::check
