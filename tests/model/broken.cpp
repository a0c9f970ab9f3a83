#include "broken.hpp"

#include <algorithm>
#include <iterator>

#include "locks.hpp"
#include "lockwright/lock/clh.hpp"
#include "lockwright/lock/mcs.hpp"

namespace lockwright::check {

std::vector<subject> broken_locks() {
  using namespace lockwright::broken;
  std::vector<subject> all{
      {"test-then-set", cases_of<test_then_set<model>>()},
      {"relaxed-taking", cases_of<relaxed_taking<model>>()},
      {"no-wake", cases_of<no_wake<model>>()},
      {"forgets-other-sleepers", cases_of<forgets_other_sleepers<model>>()},
      {"mcs-parks-by-store", cases_of<mcs<model, parks_by_store>>()},
      {"clh-parks-by-store", cases_of<clh<model, parks_by_store>>()},
      {"mcs-trusts-wakes", cases_of<mcs<model, trusts_wakes>>()},
      {"clh-keeps-node", cases_of<clh_keeps_node<model>>()},
      {"mcs-forgets-late-linker", cases_of<mcs_forgets_late_linker<model>>()},
      {"late-touch", cases_of<late_touch<model>>()},
  };
  std::ranges::move(broken_conditions(), std::back_inserter(all));
  return all;
}

}  // namespace lockwright::check
