// Prints the observable results of each call, one line a probe: "name: result". The test compares
// the output under a lock with the output under the C library.
#include "parts.hpp"

#include <cstring>

namespace conformance {
namespace {

struct Part {
  const char* name;
  void (*body)();
};

constexpr Part parts[] = {{"mutex kinds", mutex_kinds},
                          {"static initialisers", static_initialisers},
                          {"normal mutexes", normal_mutexes_check_nothing},
                          {"owners that end", owners_that_end},
                          {"condition variables", condition_variables},
                          {"clocks", clocks_of_condition_variables},
                          {"depth of two", wait_in_a_recursive_lock},
                          {"free mutex", wait_with_a_free_mutex},
                          {"destroy while waiting", destroy_a_mutex_that_a_waiter_will_need},
                          {"cancellation", cancellation},
                          {"no cancellation points", no_cancellation_points},
                          {"state after a wait", state_after_a_wait},
                          {"cancellation disabled", cancellation_disabled},
                          {"interrupted calls", interrupted_calls},
                          {"fork in a handler", fork_in_a_handler},
                          {"forks", forks},
                          {"private mutex in shared memory", private_mutex_in_shared_memory},
                          {"C11", c11},
                          {"semaphores", semaphores},
                          {"barriers and once", barriers_and_once}};

}  // namespace
}  // namespace conformance

// Arguments name the parts to run; without arguments all run.
int main(int argc, char** argv) {
  for (const conformance::Part& part : conformance::parts) {
    bool wanted = argc < 2;
    for (int i = 1; i < argc; ++i) wanted = wanted || std::strcmp(argv[i], part.name) == 0;
    if (wanted) part.body();
  }
  return 0;
}
