#include "locks.hpp"

#include <algorithm>
#include <iterator>

namespace lockwright::check {

// Each is compiled by itself, in a source that CMakeLists.txt writes.
#define LOCKWRIGHT_LOCK(name, identifier, header, ...) \
  std::vector<test_case> cases_of_##identifier();
#include "lockwright/built.def"
#undef LOCKWRIGHT_LOCK

std::vector<subject> registered_locks() {
  std::vector<subject> all{
#define LOCKWRIGHT_LOCK(name, identifier, header, ...) {name, cases_of_##identifier()},
#include "lockwright/built.def"
#undef LOCKWRIGHT_LOCK
  };
  all.push_back(reader_writer_lock());
  std::ranges::move(conditions(), std::back_inserter(all));
  std::erase_if(all, [](const subject& s) { return s.cases.empty(); });
  return all;
}

}  // namespace lockwright::check
