// The algorithm that the plan gives a reader-writer lock; that of LOCKWRIGHT_RWLOCK if the plan has
// no entries for them.
#include "preload/rwlock_choice.hpp"

#include "preload/fork.hpp"
#include "preload/mixed/plan.hpp"

namespace lockwright::preload {
namespace {

/// Called with `adopting` held, so that one thread consults the plan, which counts locks.
rwlock_mode choose(pthread_rwlock_t* lock, const init_site& site) {
  const rwlock_mode known = mode_of(*lock);
  if (known != rwlock_mode::keep || is_kept(*lock)) {
    return known;
  }
  const rwlock_mode chosen = current_plan().choose_rwlock(site);
  if (chosen == rwlock_mode::keep) {
    keep(*lock);
  }
  return give_mode(lock, chosen);
}

}  // namespace

rwlock_mode mode_at_init(const pthread_rwlock_t* lock, const void* caller) {
  plan& current = current_plan();
  return current.assigns_rwlocks() ? current.choose_rwlock(current.locate({lock, caller, true}))
                                   : mode_without_plan();
}

rwlock_mode ensured_mode(pthread_rwlock_t* lock, const void* caller) {
  plan& current = current_plan();
  if (!current.assigns_rwlocks()) {
    return give_mode(lock, mode_without_plan());
  }
  // Before the lock is taken: may wait for the dynamic linker, and may allocate, thus lock, thus
  // recurse.
  const init_site site = current.locate({lock, caller, false});
  native_env::register_caller();
  adopting.lock();
  const rwlock_mode chosen = choose(lock, site);
  adopting.unlock();
  return chosen;
}

}  // namespace lockwright::preload
