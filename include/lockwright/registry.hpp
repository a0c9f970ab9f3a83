// Every algorithm of registry.def as an alias over an environment:
// `mcs_spin_lock<Env>`, `ticket_lock<Env>`, and so on.
#pragma once

#include "lockwright/lock/backoff.hpp"
#include "lockwright/lock/clh.hpp"
#include "lockwright/lock/futex.hpp"
#include "lockwright/lock/hmcs.hpp"
#include "lockwright/lock/mcs.hpp"
#include "lockwright/lock/partitioned.hpp"
#include "lockwright/lock/pthread.hpp"
#include "lockwright/lock/spinlock.hpp"
#include "lockwright/lock/ticket.hpp"
#include "lockwright/lock/ttas.hpp"

namespace lockwright {

#define LOCKWRIGHT_LOCK(name, identifier, header, ...) \
  template <class Env>                                 \
  using identifier##_lock = __VA_ARGS__;
#include "lockwright/registry.def"
#undef LOCKWRIGHT_LOCK

}  // namespace lockwright
