// A faulty lock of tests/model/broken.hpp that lockwright-simulate loads.
#pragma once

#include "lock_entry.hpp"
#include "lockwright/lock/mcs.hpp"
#include "model/broken.hpp"

namespace lockwright::broken {

template <class Env>
using mcs_parks_by_store = mcs<Env, parks_by_store>;
template <class Env>
using mcs_trusts_wakes = mcs<Env, trusts_wakes>;

}  // namespace lockwright::broken

extern "C" {
extern const lockwright::simulate::lock_entry lockwright_simulated_lock;
const lockwright::simulate::lock_entry lockwright_simulated_lock =
    lockwright::simulate::lock_entry_of<
        lockwright::broken::LOCKWRIGHT_FAULT<lockwright::simulated>>("broken");
}
