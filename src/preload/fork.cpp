#include "preload/fork.hpp"

#include <atomic>
#include <new>

#include "interpose/export.hpp"
#include "interpose/real.hpp"
#include "interpose/thread_number.hpp"
#include "lockwright/env/native/blocks.hpp"
#include "lockwright/env/native/thread.hpp"
#include "preload/counting.hpp"
#include "preload/metrics.hpp"
#include "preload/watch.hpp"

extern "C" void* __dso_handle;

namespace lockwright::preload {

using interpose::forget_thread_number;
using interpose::real;
using interpose::thread_number;

namespace {

/// The C library gives the child's thread its number before any handler runs there.
constinit thread_local std::uint32_t number_of_forking_thread = 0;

void before_fork() { number_of_forking_thread = thread_number(); }

void in_child() {
  generation += one_generation;
  renew_metrics();
  rearm_fast_path();
  number_before_fork = number_of_forking_thread;
  forget_thread_number();
  number_after_fork = thread_number();
  native_env::abandon_own_pieces();
  native_env::blocks.forget_sweeps();
  native_env::forget_callers();
  ::new (&adopting) three_state<environment>();
  ::new (&adopting_semaphore) three_state<environment>();
  if constexpr (counting) {
    // It reads files.
    native_env::unless_filtered(count_process, native_env::filter::inherited);
  }
}

}  // namespace

void follow_forks() {
  static constinit std::atomic<bool> followed{false};
  if (!followed.exchange(true, std::memory_order_relaxed)) {
    real.register_atfork(before_fork, nullptr, in_child, static_cast<void*>(&__dso_handle));
  }
}

}  // namespace lockwright::preload

extern "C" {

/// Called by pthread_atfork(), which is linked into each object. Ensures that our handlers are
/// registered first: constructors of other libraries run before ours.
int lockwright_register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                               void* object) noexcept {
  lockwright::preload::follow_forks();
  return lockwright::interpose::real.register_atfork(prepare, parent, child, object);
}

}  // extern "C"

VERSIONED_DEFAULT(lockwright_register_atfork, "__register_atfork", COND_VERSION);
