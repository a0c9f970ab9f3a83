// The scenarios of condition variables and semaphores: those of src/preload, over a lock that parks,
// one that spins, and the default lock.
#include "cond_broken.hpp"
#include "cond_scenarios.hpp"
#include "locks.hpp"
#include "lockwright/lock/adaptive.hpp"
#include "lockwright/lock/futex.hpp"
#include "lockwright/lock/ticket.hpp"
#include "lockwright/lock/ttas.hpp"
#include "semaphore_scenarios.hpp"

namespace lockwright::check {
namespace {

template <class L>
std::vector<test_case> cond_cases() {
  using P = cond_program<L, model_mutex, preload::basic_condvar>;
  constexpr auto endless = wait_limit::endless;
  constexpr auto timed = wait_limit::timed;
  constexpr auto cancellable = wait_limit::cancellable;
  model_env::settings settings;
  settings.impatient = L::traits.parks();
  model_env::settings early = settings;
  early.spurious = true;
  model_env::settings watched = settings;
  watched.watched = true;
  model_env::settings one_node = settings;
  one_node.nodes = 1;
  std::vector<test_case> cases{
      {"signal", 2, make<cond_signal<P, true>>, settings},
      {"signal-outside", 2, make<cond_signal<P, false>>, settings},
      {"early-wake", 2, make<cond_signal<P, true>>, early},
      {"watched", 2, make<cond_signal<P, true>>, watched},
      {"ring", 2, make<cond_ring<P>>, settings},
      {"ring-1-node", 2, make<cond_ring<P>>, one_node},
      {"broadcast", 2, make<cond_broadcast<P, true, 2>>, settings},
      {"timed", 2, make<cond_ended_early<P, timed>>, settings},
      {"cancelled", 2, make<cond_ended_early<P, cancellable>>, settings},
      {"destroyed", 2, make<cond_destroyed<P, endless, true, 2>>, settings},
      {"destroyed-timed", 2, make<cond_destroyed<P, timed, false, 2>>, settings},
      {"destroyed-cancelled", 2, make<cond_destroyed<P, cancellable, true, 2>>, settings},
      {"last-user", 2, make<cond_last_user<P, false>>, settings},
      {"kept", 2, make<cond_kept<P>>, settings},
      {"polled", 2, make<cond_polled<P, endless, false, 2>>, settings},
      {"polled-broadcast", 2, make<cond_polled<P, endless, true, 2>>, settings},
      {"ring", 3, make<cond_ring<P>>, settings},
      {"broadcast", 3, make<cond_broadcast<P, true, 3>>, settings},
      {"broadcast-outside", 3, make<cond_broadcast<P, false, 3>>, settings},
      {"first-come", 3, make<cond_order<P, true>>, settings},
      {"last-come", 3, make<cond_order<P, false>>, settings},
      {"mixed-order", 3, make<cond_mixed<P>>, settings},
      {"polled", 3, make<cond_polled<P, endless, false, 3>>, settings},
      {"polled-broadcast", 3, make<cond_polled<P, endless, true, 3>>, settings},
      {"polled-timed", 3, make<cond_polled<P, timed, false, 3>>, settings},
      {"beside-timed", 3, make<cond_beside<P, timed, true, true>>, settings},
      {"beside-timed-head", 3, make<cond_beside<P, timed, true, false>>, settings},
      {"beside-timed-outside", 3, make<cond_beside<P, timed, false, true>>, settings},
      {"beside-timed-broadcast", 3, make<cond_beside<P, timed, false, true, true>>, settings},
      {"beside-cancelled", 3, make<cond_beside<P, cancellable, true, true>>, settings},
      {"destroyed", 3, make<cond_destroyed<P, endless, true, 3>>, settings},
      {"destroyed-timed", 3, make<cond_destroyed<P, timed, true, 3>>, settings},
      {"beside-lock", 3, make<cond_beside_lock<P, false>>, settings},
      {"beside-lock-broadcast", 3, make<cond_beside_lock<P, true>>, settings},
  };
  // A thread polls by the mutex: the model's time does not pass meanwhile, so that no nap ends.
  if (L::traits.category != category::load_control) {
    cases.push_back({"last-user-outside", 2, make<cond_last_user_outside<P>>, settings});
  }
  return cases;
}

/// A timed lock of a mutex whose lock has none.
template <class L>
std::vector<test_case> timed_cases() {
  using M = model_mutex<L>;
  model_env::settings settings;
  settings.impatient = L::traits.parks();
  model_env::settings early = settings;
  early.spurious = true;
  model_env::settings watched = settings;
  watched.watched = true;
  return {
      {"timed", 2, make<check::timed<M>>, settings},
      {"in-time", 2, make<in_time<M>>, settings},
      {"early-wake", 2, make<in_time<M>>, early},
      {"watched", 2, make<in_time<M>>, watched},
      {"last-user", 2, make<timed_last_user<M>>, settings},
      {"timed", 3, make<all_timed<M>>, settings},
      {"in-time", 3, make<in_time<M>>, settings},
  };
}

std::vector<test_case> semaphore_cases() {
  using P = unit_program<preload::basic_semaphore, preload::wait_for_unit>;
  constexpr auto timed = wait_limit::timed;
  constexpr auto cancellable = wait_limit::cancellable;
  const model_env::settings settings;
  model_env::settings early = settings;
  early.spurious = true;
  model_env::settings watched = settings;
  watched.watched = true;
  return {
      {"exclusion", 2, make<unit_exclusion<P, 2, 1, false>>, settings},
      {"exclusion-twice", 2, make<unit_exclusion<P, 2, 2, false>>, settings},
      {"early-wake", 2, make<unit_exclusion<P, 2, 1, false>>, early},
      {"watched", 2, make<unit_exclusion<P, 2, 1, false>>, watched},
      {"posts", 2, make<unit_posts<P>>, settings},
      {"tries", 2, make<unit_tries<P>>, settings},
      {"timed", 2, make<unit_ended_early<P, timed>>, settings},
      {"cancelled", 2, make<unit_ended_early<P, cancellable>>, settings},
      {"last-user-destroys", 2, make<unit_last_user<P>>, settings},
      {"exclusion", 3, make<unit_exclusion<P, 3, 1, false>>, settings},
      {"mixed-order", 3, make<unit_exclusion<P, 3, 1, true>>, settings},
      {"beside-timed", 3, make<unit_beside<P, timed, true>>, settings},
      {"beside-timed-head", 3, make<unit_beside<P, timed, false>>, settings},
      {"crossing", 3, make<unit_crossing<P>>, settings},
      {"beside-cancelled", 3, make<unit_beside<P, cancellable, true>>, settings},
  };
}

}  // namespace

std::vector<subject> conditions() {
  // The lock and the guards have scenarios of their own.
  constexpr const char* mutated = "/preload/";
  return {
      {"condvar-futex", cond_cases<futex<model>>(), mutated},
      {"condvar-ttas", cond_cases<ttas<model>>(), mutated},
      {"condvar-adaptive", cond_cases<adaptive<model>>(), mutated},
      {"timed-adaptive", timed_cases<adaptive<model>>(), mutated},
      {"timed-ticket", timed_cases<ticket<model>>(), mutated},
      {"signalled-queue",
       {{"changes", 2, make<queue_changes<2>>, {}}, {"changes", 3, make<queue_changes<3>>, {}}},
       mutated},
      {"semaphore", semaphore_cases(), mutated},
  };
}

namespace {

using namespace broken;

template <template <class, class> class Condvar>
using with = cond_program<ttas<model>, model_mutex, Condvar>;
template <template <class> class Mutex>
using over = cond_program<ttas<model>, Mutex, preload::basic_condvar>;
template <template <class, class, class> class Semaphore>
using semaphore_of = unit_program<Semaphore, preload::wait_for_unit>;

/// Returns a faulty subject with the one scenario that finds the fault; all scenarios would take
/// minutes to compile.
subject faulty(const char* name, const char* scenario, std::uint32_t threads, maker program) {
  return {name, {{scenario, threads, program, {}}}};
}

}  // namespace

std::vector<subject> broken_conditions() {
  constexpr auto timed = wait_limit::timed;
  constexpr auto cancellable = wait_limit::cancellable;
  return {
      faulty("releases-too-soon", "signal", 2, make<cond_signal<with<releases_too_soon>, true>>),
      faulty("signals-leavers", "beside-timed", 3,
             make<cond_beside<with<signals_leavers>, timed, true, true>>),
      faulty("grants-unclaimed", "beside-timed", 3,
             make<cond_beside<with<grants_unclaimed>, timed, true, true>>),
      faulty("swallows-signal", "beside-cancelled", 3,
             make<cond_beside<with<swallows_signal>, cancellable, true, true>>),
      faulty("looks-at-granted", "broadcast-outside", 3,
             make<cond_broadcast<with<looks_at_granted>, false, 3>>),
      faulty("broadcasts-to-one", "broadcast", 3,
             make<cond_broadcast<with<broadcasts_to_one>, true, 3>>),
      faulty("touches-after-signal", "last-user-outside", 2,
             make<cond_last_user_outside<with<touches_after_signal>>>),
      faulty("appends-behind-no-holder", "signal-outside", 2,
             make<cond_signal<with<queues_without_holder>, false>>),
      faulty("appends-too-late", "broadcast-outside", 3,
             make<cond_broadcast<with<lines_up_too_late>, false, 3>>),
      faulty("drains-nobody", "destroyed-timed", 2,
             make<cond_destroyed<with<drains_no_waiter>, timed, false, 2>>),
      faulty("stays-queued", "destroyed-timed", 2,
             make<cond_destroyed<with<stays_queued>, timed, false, 2>>),
      faulty("wrong-end", "first-come", 3, make<cond_order<with<wrong_end>, true>>),
      faulty("forgets-signalled", "signal", 2, make<cond_signal<over<forgets_signalled>, true>>),
      faulty("looks-too-late", "last-user", 2, make<cond_last_user<over<looks_too_late>, false>>),
      faulty("posts-in-two-steps", "exclusion", 2,
             make<unit_exclusion<semaphore_of<posts_in_two_steps>, 2, 1, false>>),
      faulty("posts-past-waiters", "exclusion", 2,
             make<unit_exclusion<semaphore_of<posts_past_waiters>, 2, 1, false>>),
      faulty("grants-under-guard", "last-user", 2,
             make<unit_last_user<semaphore_of<grants_under_guard>>>),
      faulty(
          "keeps-unit", "cancelled", 2,
          make<unit_ended_early<unit_program<preload::basic_semaphore, keeps_unit>, cancellable>>),
  };
}

}  // namespace lockwright::check
