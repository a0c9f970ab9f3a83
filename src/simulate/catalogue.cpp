#include "../workload/conditions.hpp"
#include "../workload/data.hpp"
#include "../workload/many_mutexes.hpp"
#include "../workload/rwlock.hpp"
#include "../workload/single_mutex.hpp"
#include "../workload/sleep_period.hpp"
#include "workload.hpp"
#include "workload/environment.hpp"

namespace lockwright::simulate {
namespace {

/// A workload of src/workload.
template <class Workload>
class on_threads final : public workload {
 public:
  explicit on_threads(const context& with) : state_{with} {
    const std::uint64_t threads = with.threads() + helpers();
    for (std::uint64_t i = 0; i < threads; ++i) {
      threads_.push_back(std::make_unique<thread>(state_, with, i));
    }
  }

  [[nodiscard]] std::uint64_t helpers() const override {
    if constexpr (requires { state_.helpers(); }) {
      return state_.helpers();
    }
    return 0;
  }
  std::uint64_t step(std::uint32_t index) override {
    return state_.step(threads_[index]->state, threads_[index]->meter);
  }
  void release_waiters() override {
    if constexpr (requires { state_.release_waiters(); }) {
      state_.release_waiters();
    }
  }
  [[nodiscard]] std::string find_fault(std::uint64_t operations) const override {
    if constexpr (requires { state_.find_fault(operations); }) {
      return state_.find_fault(operations);
    }
    return "";
  }

 private:
  struct thread {
    thread(Workload& all, const context& with, std::size_t index)
        : state{all, with, index}, meter{with.in} {}
    typename Workload::thread_state state;
    simulated_meter meter;
  };

  Workload state_;
  std::vector<std::unique_ptr<thread>> threads_;
};

template <class W>
std::unique_ptr<workload> make(const context& with) {
  return std::make_unique<on_threads<W>>(with);
}

const workloads::description last_user_destroys{
    .name = "last-user-destroys",
    .measures =
        "all threads take a lock once, and the last one destroys it: a later access fails the run"};
const workloads::description modelled{
    .name = "model",
    .measures =
        "threads that take the mutexes of a program, as the model of a file describes them"};

}  // namespace

const std::vector<simulated_workload>& catalogue() {
  using namespace workloads;
  using env = on_machine;
  static const std::vector<simulated_workload> all = {
      {&uncontested, make<lone_sections<env>>},
      {&single_lock, make<equal_sections<env>>},
      {&lockbench, make<drawn_sections<env>>},
      {&variable_contention, make<drawn_mutexes<env>>},
      {&migration, make<moving<env>>},
      {&convoy, make<held_up<env>>},
      {&trylock_wait, make<tried_sections<env>>},
      {&random_array, make<two_sets<env, env::array>>},
      {&ring_walker, make<two_sets<env, env::ring>>},
      {&keymap, make<keyed<env, env::key_map>>},
      {&lru_cache, make<keyed<env, env::key_cache>>},
      {&producer_consumer, make<bounded_queue<env>>},
      {&barrier, make<cond_barrier<env>>},
      {&ping_pong, make<thread_pairs<env>>},
      {&many_locks, make<short_lived<env>>},
      {&last_user_destroys, make_last_user_destroys},
      {&sleep_period, make<waker_and_sleeper<env>>},
      {&modelled, make_modelled},
      {&workloads::rwlock, make<readers_and_writers<env>>},
  };
  return all;
}

}  // namespace lockwright::simulate
