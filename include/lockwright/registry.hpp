// Every algorithm of registry.def as an alias over an environment:
// `mcs_spin_lock<native>`, `ticket_lock<native>`, and so on. The environment
// that an algorithm gets knows the algorithm's name, for its tunables.
#pragma once

#include <cstdint>

#include "lockwright/lock/alock_ls.hpp"
#include "lockwright/lock/backoff.hpp"
#include "lockwright/lock/clh.hpp"
#include "lockwright/lock/clh_ls.hpp"
#include "lockwright/lock/futex.hpp"
#include "lockwright/lock/gcr.hpp"
#include "lockwright/lock/go_mutex.hpp"
#include "lockwright/lock/hmcs.hpp"
#include "lockwright/lock/mcs.hpp"
#include "lockwright/lock/mcs_ls.hpp"
#include "lockwright/lock/partitioned.hpp"
#include "lockwright/lock/pthread.hpp"
#include "lockwright/lock/spinlock.hpp"
#include "lockwright/lock/spinlock_ls.hpp"
#include "lockwright/lock/ticket.hpp"
#include "lockwright/lock/ticket_ls.hpp"
#include "lockwright/lock/ttas.hpp"
#include "lockwright/lock/ttas_ls.hpp"
#include "lockwright/lock/wordlock.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

#define LOCKWRIGHT_LOCK(lock_name, identifier, header, ...)        \
  inline constexpr char identifier##_name[] = lock_name;           \
  template <class Machine>                                         \
  struct identifier##_env : Machine {                              \
    template <const tunable& What>                                 \
    static std::uint64_t value() {                                 \
      return Machine::template setting<What, identifier##_name>(); \
    }                                                              \
  };                                                               \
  template <class Machine>                                         \
  struct identifier##_over {                                       \
    using Env = identifier##_env<Machine>;                         \
    using lock = __VA_ARGS__;                                      \
  };                                                               \
  template <class Machine>                                         \
  using identifier##_lock = typename identifier##_over<Machine>::lock;
#include "lockwright/registry.def"
#undef LOCKWRIGHT_LOCK

}  // namespace lockwright
