// Relacy's searches, instantiated once for each number of threads.

#include <chrono>
#include <stdexcept>

#include "lockwright/env/model.hpp"
#include "lockwright/env/model/reduced_search.hpp"
#include "program.hpp"
#include "trace.hpp"

namespace lockwright::check {
namespace {

using clock = std::chrono::steady_clock;

/// The parameters of the run, for the suite that Relacy constructs.
struct {
  maker make_program = nullptr;
  clock::time_point deadline;
  std::uint64_t executions = 0;
} run_parameters;

alignas(64) std::byte room[program_bytes];

template <int Threads>
struct suite : rl::test_suite<suite<Threads>, Threads> {
  program* current;

  suite() {
    model_env::execution_now.begin();
    model_env::history_now.begin();
    model_env::sleepers_now.begin();
    model_env::execution_now.make_common(model_env::settings_now.common_bytes);
    current = run_parameters.make_program(room);
  }
  ~suite() {
    current->~program();
    model_env::execution_now.destroy_pieces();
    model_env::execution_now.end();
    if (model_env::execution_now.nodes_taken != 0) {
      model_env::fail("a queue node was never given back", rl::test_result_memory_leak, RL_INFO);
    }
    if (model_env::execution_now.blocks_reserved != 0) {
      model_env::fail("reserved memory was never given back", rl::test_result_memory_leak, RL_INFO);
    }
  }

  void before() {
    // Reading a clock takes longer than an execution.
    if (++run_parameters.executions % 512 == 0 && clock::now() > run_parameters.deadline) {
      rl::ctx().rl_until("out of time", RL_INFO);
    }
  }
  void thread(unsigned index) {
    current->thread(index);
    model_env::record(model_env::event::ended, "", nullptr, 0);
  }
  void after() { current->after(); }
};

rl::test_params parameters(const search& how, std::ostream& out) {
  rl::test_params p;
  switch (how.how) {
    case search::full:
      p.search_type = rl::sched_full;
      break;
    case search::bound:
      p.search_type = rl::sched_bound;
      p.context_bound = static_cast<unsigned>(how.limit);
      break;
    case search::random:
      p.search_type = rl::sched_random;
      p.iteration_count = how.limit;
      break;
  }
  p.execution_depth_limit = 3'000;  // Steps; far more than any program here takes.
  p.output_stream = &out;
  p.progress_stream = &out;
  return p;
}

template <class Suite>
rl::test_result_e search_once(rl::test_params& p, std::ostream& state, bool again) {
  constexpr rl::thread_id_t threads = Suite::params::thread_count;
  switch (p.search_type) {
    case rl::sched_full:
      if (model_env::settings_now.reduced) {
        return rl::run_test<Suite, model_env::reduced_search<threads>>(p, state, again);
      }
      return rl::run_test<Suite, rl::full_search_scheduler<threads>>(p, state, again);
    case rl::sched_bound:
      return rl::run_test<Suite, rl::context_bound_scheduler<threads>>(p, state, again);
    default:
      return rl::run_test<Suite, rl::random_scheduler<threads>>(p, state, again);
  }
}

template <class Suite>
outcome run_suite(const search& how, bool trace) {
  rl::ostringstream out;  // Relacy writes to it while it owns `new`
  rl::test_params p = parameters(how, out);
  rl::ostringstream state;
  const clock::time_point start = clock::now();
  run_parameters.deadline = start + std::chrono::duration_cast<clock::duration>(
                                        std::chrono::duration<double>(how.seconds));
  run_parameters.executions = 0;

  outcome result;
  const rl::test_result_e found = search_once<Suite>(p, state, false);
  result.seconds = std::chrono::duration<double>(clock::now() - start).count();
  result.executions = run_parameters.executions;
  if (found == rl::test_result_success) {
    return result;
  }
  if (found == rl::test_result_until_condition_hit) {
    result.result = outcome::out_of_time;
    return result;
  }
  result.result = outcome::failed;
  result.problem = rl::test_result_str(found);
  if (trace) {
    p.initial_state = state.str();
    p.collect_history = true;
    run_parameters.deadline = clock::time_point::max();
    rl::ostringstream ignored;
    const rl::test_result_e again = search_once<Suite>(p, ignored, true);
    const explanation explained = explain_history(again, Suite::params::thread_count);
    result.problem = explained.end;
    result.trace = explained.steps;
    result.steps = explained.count;
  }
  return result;
}

}  // namespace

outcome run(maker make_program, std::uint32_t threads, const search& how,
            const model_env::settings& settings, bool trace) {
  std::memset(model_env::graveyard, 0xdd, sizeof model_env::graveyard);
  run_parameters.make_program = make_program;
  model_env::settings_now = settings;
  switch (threads) {
    case 2:
      return run_suite<suite<2>>(how, trace);
    case 3:
      return run_suite<suite<3>>(how, trace);
    case 4:
      return run_suite<suite<4>>(how, trace);
    case 5:
      return run_suite<suite<5>>(how, trace);
    default:
      throw std::invalid_argument("the checker runs 2 to 5 threads");
  }
}

}  // namespace lockwright::check
