#include "published.hpp"

#include "lockwright/lock/mcs.hpp"
#include "lockwright/lock/mutable.hpp"
#include "lockwright/lock/spinlock.hpp"
#include "lockwright/lock/ticket.hpp"
#include "lockwright/lock/ttas.hpp"
#include "lockwright/row.hpp"
#include "published/libc.hpp"
#include "published/litl.hpp"
#include "published/mutexee.hpp"
#include "published/polling.hpp"

namespace lockwright {
namespace simulate {
namespace {

/// Its program returns before the oracle counts an acquisition if the window has changed meanwhile
/// (src/mutlocks/sem_tcp_mutlock.c).
template <class Env>
struct oracle_of_current_windows : doubling_oracle<Env> {
  static constexpr bool counts_stale = false;
};

template <class Env>
using litl_mutexee = with_mutex_inside<Env, published_mutexee<Env, sleep_until_woken>>;
template <class Env>
using litl_mcs_spin = with_mutex_inside<Env, mcs<Env, spin_wait>>;
template <class Env>
using litl_mcs_stp = with_mutex_inside<Env, mcs<Env, wake_always>>;
template <class Env>
using litl_malth_stp = with_mutex_inside<Env, malthusian<Env, wake_always>>;
template <class Env>
using litl_spinlock = with_mutex_inside<Env, spinlock<Env>>;

// The tunables are those of the registry's rows. In libmutlock (src/mutlocks/mutlocks_template.h,
// 2019) the state and the spin lock share a cache line; the semaphore and what only the holder
// writes have lines of their own.
LOCKWRIGHT_ROW("mutable", mutable_of_libmutlock, "",
               mutable_window<Env, oracle_of_current_windows, 64>)
LOCKWRIGHT_ROW("mcs-spin", mcs_spin_of_authors, "", mcs<Env, spin_wait>)
LOCKWRIGHT_ROW("ttas", ttas_of_lockin, "", ttas<Env>)
LOCKWRIGHT_ROW("ticket", ticket_of_lockin, "", ticket<Env>)
LOCKWRIGHT_ROW("spinlock", spinlock_of_lockin, "", spinlock<Env>)
LOCKWRIGHT_ROW("mutexee", mutexee_of_lockin, "", published_mutexee<Env, sleep_until_woken>)
LOCKWRIGHT_ROW("mutexee-timeout", mutexee_timeout_of_lockin, "",
               published_mutexee<Env, sleep_a_while>)
LOCKWRIGHT_ROW("mutexee", mutexee_of_litl, "", litl_mutexee<Env>)
LOCKWRIGHT_ROW("mcs-spin", mcs_spin_of_litl, "", litl_mcs_spin<Env>)
LOCKWRIGHT_ROW("mcs-stp", mcs_stp_of_litl, "", litl_mcs_stp<Env>)
LOCKWRIGHT_ROW("malth-stp", malth_stp_of_litl, "", litl_malth_stp<Env>)
LOCKWRIGHT_ROW("spinlock", spinlock_of_litl, "", litl_spinlock<Env>)
LOCKWRIGHT_ROW("pthread", pthread_of_libc, "", normal_mutex<Env>)
LOCKWRIGHT_ROW("pthreadadapt", pthreadadapt_of_libc, "", adaptive_mutex<Env>)

constexpr lock_entry entries[] = {
    lock_entry_of<mutable_of_libmutlock_lock<polling_without_pauses>>("mutable-libmutlock"),
    lock_entry_of<mcs_spin_of_authors_lock<polling_without_pauses>>("mcs-spin-libmutlock"),
    lock_entry_of<mcs_spin_of_authors_lock<polling_with_barriers>>("mcs-spin-lockin"),
    lock_entry_of<ttas_of_lockin_lock<polling_with_barriers>>("ttas-lockin"),
    lock_entry_of<ticket_of_lockin_lock<polling_with_barriers>>("ticket-lockin"),
    lock_entry_of<spinlock_of_lockin_lock<polling_with_barriers>>("spinlock-lockin"),
    lock_entry_of<mutexee_of_lockin_lock<polling_with_barriers>>("mutexee-lockin"),
    lock_entry_of<mutexee_timeout_of_lockin_lock<polling_with_barriers>>("mutexee-timeout-lockin"),
    lock_entry_of<mutexee_of_litl_lock<polling_with_barriers>>("mutexee-litl"),
    lock_entry_of<mcs_spin_of_litl_lock<simulated>>("mcs-spin-litl"),
    lock_entry_of<mcs_stp_of_litl_lock<simulated>>("mcs-stp-litl"),
    lock_entry_of<malth_stp_of_litl_lock<simulated>>("malth-stp-litl"),
    lock_entry_of<spinlock_of_litl_lock<simulated>>("spinlock-litl"),
    lock_entry_of<pthread_of_libc_lock<simulated>>("pthread-libc"),
    lock_entry_of<pthreadadapt_of_libc_lock<simulated>>("pthreadadapt-libc"),
};

}  // namespace

std::vector<const lock_entry*> published_locks() {
  std::vector<const lock_entry*> all;
  for (const lock_entry& one : entries) {
    all.push_back(&one);
  }
  return all;
}

}  // namespace simulate
}  // namespace lockwright
