// The workloads that call a lock of lockwright/lock/ directly, as in a program that was written
// with that lock: its functions are compiled into the workload's loop, and nothing is preloaded.
#pragma once

#include <array>

#include "../../workload/many_mutexes.hpp"
#include "../../workload/single_mutex.hpp"
#include "../workload/native.hpp"
#include "../workload/thread_group.hpp"
#include "lockwright/env/native.hpp"
#include "lockwright/lock.hpp"

namespace bench {

using runner = int (*)(const description&, const settings&);

// In the order of direct_lock::runs.
inline constexpr std::array direct_workloads{&lockwright::workloads::uncontested,
                                             &lockwright::workloads::single_lock,
                                             &lockwright::workloads::lockbench};

// A lock with the workloads compiled for it.
struct direct_lock {
  const char* name;
  // Null for the C library's mutex, which has no header here.
  const char* header;
  std::array<runner, direct_workloads.size()> runs;
};

template <class Row>
struct direct_mutex {
  using lock = typename Row::template lock<lockwright::native>;
  static constexpr bool is_library = lock::traits.category == lockwright::category::library;
  using type = std::conditional_t<is_library, pthread_mutex_t, lock>;
};

template <class Row, class Env = native_env<typename direct_mutex<Row>::type>>
inline constexpr direct_lock direct_lock_of{
    Row::name,
    direct_mutex<Row>::is_library ? nullptr : Row::header,
    {run_thread_group<lockwright::workloads::lone_sections<Env>, meters_off>,
     run_thread_group<lockwright::workloads::equal_sections<Env>, meters_off>,
     run_thread_group<lockwright::workloads::drawn_sections<Env>, meters_off>}};

}  // namespace bench
