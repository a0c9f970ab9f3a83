// The model checker Relacy, without its macros that replace a program's `new`, `malloc`, `assert`
// and memory orders: the locks are compiled as they ship, against std::memory_order and the
// wrappers beside this file.
#pragma once

// Relacy's fibers jump between stacks, which the checked longjmp refuses.
#ifdef _FORTIFY_SOURCE
#error "compile with -U_FORTIFY_SOURCE"
#endif

// clang-format off: each of these needs the ones before it.
#include <relacy/base.hpp>
#include <relacy/context.hpp>
#include <relacy/context_base_impl.hpp>
#include <relacy/backoff.hpp>
#include <relacy/atomic_fence.hpp>
#include <relacy/atomic.hpp>
#include <relacy/var.hpp>
#include <relacy/thread_local.hpp>
#include <relacy/test_suite.hpp>
#include <relacy/dyn_thread.hpp>
#include <relacy/stdlib/mutex.hpp>
#include <relacy/stdlib/condition_variable.hpp>
#include <relacy/stdlib/semaphore.hpp>
#include <relacy/stdlib/event.hpp>
// clang-format on

#undef $

#include <atomic>

#include "lockwright/env/model/location.hpp"

namespace lockwright::model_env {

[[nodiscard]] inline rl::memory_order relacy_order(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return rl::mo_relaxed;
    case std::memory_order_consume:
      return rl::mo_consume;
    case std::memory_order_acquire:
      return rl::mo_acquire;
    case std::memory_order_release:
      return rl::mo_release;
    case std::memory_order_acq_rel:
      return rl::mo_acq_rel;
    case std::memory_order_seq_cst:
      break;
  }
  return rl::mo_seq_cst;
}

/// The source location of a step, in Relacy's form.
[[nodiscard]] inline rl::debug_info relacy_info(const location& at) {
  return {"at", at.file_name(), at.line()};
}

}  // namespace lockwright::model_env
