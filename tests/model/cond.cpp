// The programs that condition variables and semaphores are run through: what src/preload ships, over
// a lock that parks and one that spins.
#include "cond_broken.hpp"
#include "cond_scenarios.hpp"
#include "locks.hpp"
#include "lockwright/lock/futex.hpp"
#include "lockwright/lock/ttas.hpp"

namespace lockwright::check {
namespace {

template <class L, template <class> class Mutex = model_mutex,
          template <class, class> class Condvar = preload::signalling>
std::vector<test_case> cond_cases() {
  using P = cond_program<L, Mutex, Condvar>;
  constexpr auto endless = patience::endless;
  constexpr auto timed = patience::timed;
  constexpr auto cancellable = patience::cancellable;
  model_env::world world;
  world.impatient = L::traits.parks();
  model_env::world early = world;
  early.spurious = true;
  std::vector<test_case> cases{
      {"signal", 2, make<cond_signal<P, true>>, world},
      {"signal-outside", 2, make<cond_signal<P, false>>, world},
      {"early-wake", 2, make<cond_signal<P, true>>, early},
      {"ring", 2, make<cond_ring<P>>, world},
      {"broadcast", 2, make<cond_broadcast<P, true, 2>>, world},
      {"timed", 2, make<cond_hurried<P, timed>>, world},
      {"cancelled", 2, make<cond_hurried<P, cancellable>>, world},
      {"destroyed", 2, make<cond_destroyed<P, endless, true, 2>>, world},
      {"destroyed-timed", 2, make<cond_destroyed<P, timed, false, 2>>, world},
      {"destroyed-cancelled", 2, make<cond_destroyed<P, cancellable, true, 2>>, world},
      {"last-user", 2, make<cond_last_user<P, false>>, world},
      {"last-user-outside", 2, make<cond_last_user_outside<P>>, world},
      {"kept", 2, make<cond_kept<P>>, world},
      {"broadcast", 3, make<cond_broadcast<P, true, 3>>, world},
      {"broadcast-outside", 3, make<cond_broadcast<P, false, 3>>, world},
  };
  if (L::traits.parks()) {
    return cases;  // With such a lock the first of a broadcast leads; the rest is the same.
  }
  const std::vector<test_case> more{
      {"first-come", 3, make<cond_order<P, true>>, world},
      {"last-come", 3, make<cond_order<P, false>>, world},
      {"mixed-order", 3, make<cond_mixed<P>>, world},
      {"beside-timed", 3, make<cond_beside<P, timed, true>>, world},
      {"beside-timed-outside", 3, make<cond_beside<P, timed, false>>, world},
      {"beside-cancelled", 3, make<cond_beside<P, cancellable, true>>, world},
      {"destroyed", 3, make<cond_destroyed<P, endless, true, 3>>, world},
      {"destroyed-timed", 3, make<cond_destroyed<P, timed, true, 3>>, world},
  };
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

template <template <class, class, class> class Semaphore = preload::units,
          template <class> class Wait = preload::wait_for_unit>
std::vector<test_case> semaphore_cases() {
  using P = unit_program<Semaphore, Wait>;
  constexpr auto timed = patience::timed;
  constexpr auto cancellable = patience::cancellable;
  const model_env::world world;
  model_env::world early = world;
  early.spurious = true;
  return {
      {"exclusion", 2, make<unit_exclusion<P, 2, 1, false>>, world},
      {"exclusion-twice", 2, make<unit_exclusion<P, 2, 2, false>>, world},
      {"early-wake", 2, make<unit_exclusion<P, 2, 1, false>>, early},
      {"posts", 2, make<unit_posts<P>>, world},
      {"tries", 2, make<unit_tries<P>>, world},
      {"timed", 2, make<unit_hurried<P, timed>>, world},
      {"cancelled", 2, make<unit_hurried<P, cancellable>>, world},
      {"last-user-destroys", 2, make<unit_last_user<P>>, world},
      {"exclusion", 3, make<unit_exclusion<P, 3, 1, false>>, world},
      {"mixed-order", 3, make<unit_exclusion<P, 3, 1, true>>, world},
      {"beside-timed", 3, make<unit_beside<P, timed>>, world},
      {"beside-cancelled", 3, make<unit_beside<P, cancellable>>, world},
  };
}

}  // namespace

std::vector<subject> conditions() {
  // The lock and the guards have programs of their own.
  constexpr const char* own_files = "/preload/";
  return {
      {"condvar-futex", cond_cases<futex<model>>(), own_files},
      {"condvar-ttas", cond_cases<ttas<model>>(), own_files},
      {"waiter-line",
       {{"changes", 2, make<line_changes<2>>, {}}, {"changes", 3, make<line_changes<3>>, {}}},
       own_files},
      {"semaphore", semaphore_cases(), own_files},
  };
}

std::vector<subject> broken_conditions() {
  using namespace broken;
  using L = ttas<model>;
  return {
      {"releases-too-soon", cond_cases<L, model_mutex, releases_too_soon>()},
      {"signals-leavers", cond_cases<L, model_mutex, signals_leavers>()},
      {"grants-unclaimed", cond_cases<L, model_mutex, grants_unclaimed>()},
      {"swallows-signal", cond_cases<L, model_mutex, swallows_signal>()},
      {"looks-at-granted", cond_cases<L, model_mutex, looks_at_granted>()},
      {"broadcasts-to-one", cond_cases<L, model_mutex, broadcasts_to_one>()},
      {"touches-after-broadcast", cond_cases<L, model_mutex, touches_after_broadcast>()},
      {"lines-up-behind-nobody", cond_cases<L, model_mutex, lines_up_behind_nobody>()},
      {"lines-up-too-late", cond_cases<L, model_mutex, lines_up_too_late>()},
      {"drains-nobody", cond_cases<L, model_mutex, drains_nobody>()},
      {"stays-queued", cond_cases<L, model_mutex, stays_queued>()},
      {"wrong-end", cond_cases<L, model_mutex, wrong_end>()},
      {"forgets-line", cond_cases<L, forgets_line>()},
      {"looks-too-late", cond_cases<L, looks_too_late>()},
      {"posts-in-two-steps", semaphore_cases<posts_in_two_steps>()},
      {"posts-past-waiters", semaphore_cases<posts_past_waiters>()},
      {"grants-under-guard", semaphore_cases<grants_under_guard>()},
      {"keeps-unit", semaphore_cases<preload::units, keeps_unit>()},
  };
}

}  // namespace lockwright::check
