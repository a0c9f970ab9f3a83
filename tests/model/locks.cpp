#include "locks.hpp"

#include <concepts>

#include "broken.hpp"
#include "lockwright/lock/clh.hpp"
#include "lockwright/lock/mcs.hpp"
#include "lockwright/registry.hpp"

namespace lockwright::check {
namespace {

#define LOCKWRIGHT_LOCK(lock_name, identifier, header, ...) \
  struct identifier##_row {                                 \
    static constexpr const char* name = lock_name;          \
    template <class Env>                                    \
    using lock = identifier##_lock<Env>;                    \
  };
#include "lockwright/registry.def"
#undef LOCKWRIGHT_LOCK

template <class Row>
void add(std::vector<subject>& all) {
  // The C library's mutex is not ours to check: it comes without its source.
  if constexpr (!std::same_as<Row, pthread_row>) {
    all.push_back({Row::name, cases_of<typename Row::template lock<model>>()});
  }
}

}  // namespace

std::vector<subject> registered_locks() {
  std::vector<subject> all;
#define LOCKWRIGHT_LOCK(name, identifier, header, ...) add<identifier##_row>(all);
#include "lockwright/registry.def"
#undef LOCKWRIGHT_LOCK
  return all;
}

std::vector<subject> broken_locks() {
  using namespace lockwright::broken;
  return {
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
}

}  // namespace lockwright::check
