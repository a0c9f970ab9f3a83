#include "locks.hpp"

#include <algorithm>
#include <iterator>

namespace lockwright::check {

// Each is compiled by itself, in a source that CMakeLists.txt writes.
#define LOCKWRIGHT_LOCK(name, identifier, header, ...) \
  std::vector<test_case> cases_of_##identifier();
#include "lockwright/built.def"
#undef LOCKWRIGHT_LOCK
#define LOCKWRIGHT_RWLOCK(name, identifier, ...) std::vector<test_case> rw_cases_of_##identifier();
#include "lockwright/rwlocks.def"
#undef LOCKWRIGHT_RWLOCK

std::vector<subject> registered_locks() {
  std::vector<subject> all{
#define LOCKWRIGHT_LOCK(name, identifier, header, ...) {name, cases_of_##identifier()},
#include "lockwright/built.def"
#undef LOCKWRIGHT_LOCK
#define LOCKWRIGHT_RWLOCK(name, identifier, ...) {name, rw_cases_of_##identifier()},
#include "lockwright/rwlocks.def"
#undef LOCKWRIGHT_RWLOCK
  };
  std::ranges::move(conditions(), std::back_inserter(all));
  std::erase_if(all, [](const subject& s) { return s.cases.empty(); });
  return all;
}

}  // namespace lockwright::check
