#include "fork.hpp"

#include <atomic>
#include <new>

#include "export.hpp"
#include "lockwright/env/native/blocks.hpp"
#include "lockwright/env/native/thread.hpp"
#include "real.hpp"
#include "watch.hpp"

extern "C" void* __dso_handle;

namespace lockwright::preload {
namespace {

void in_child() {
  generation += one_generation;
  find_short_way_again();
  tid_before_fork = native_env::self_record.tid;
  tid_after_fork = native_env::ask_tid();
  native_env::abandon_own_pieces();
  native_env::blocks.forget_sweeps();
  ::new (&adopting) three_state<environment>();
  ::new (&adopting_semaphore) three_state<environment>();
}

}  // namespace

void follow_forks() {
  static constinit std::atomic<bool> followed{false};
  if (!followed.exchange(true, std::memory_order_relaxed)) {
    real.register_atfork(nullptr, nullptr, in_child, static_cast<void*>(&__dso_handle));
  }
}

}  // namespace lockwright::preload

extern "C" {

/// What pthread_atfork(), which is linked into each object, calls. Only its
/// order is of interest here: constructors of other libraries run before ours.
int lockwright_register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                               void* object) noexcept {
  lockwright::preload::follow_forks();
  return lockwright::preload::real.register_atfork(prepare, parent, child, object);
}

}  // extern "C"

VERSIONED_DEFAULT(lockwright_register_atfork, "__register_atfork", COND_VERSION);
