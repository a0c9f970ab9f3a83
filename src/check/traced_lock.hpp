// A lock that records the calls and returns of its members for the trace of a failing execution.
#pragma once

#include <cstdint>

#include "lockwright/env/model.hpp"
#include "lockwright/lock.hpp"

namespace lockwright::check {

template <class L>
class traced_lock {
 public:
  explicit traced_lock(const char* name) : name_(name) {}

  void lock() {
    record(model_env::event::call, "lock");
    lock_.lock();
    record(model_env::event::returned, "lock: it is inside");
  }

  bool try_lock() {
    record(model_env::event::call, "try_lock");
    return result(lock_.try_lock(), "try_lock: it is inside", "try_lock: refused");
  }

  bool try_lock_until(std::uint64_t deadline)
    requires TimedLock<L>
  {
    record(model_env::event::call, "try_lock_until");
    return result(lock_.try_lock_until(deadline), "try_lock_until: it is inside",
                  "try_lock_until: too late");
  }

  void expect_signals()
    requires requires(L& lock) { lock.expect_signals(); }
  {
    record(model_env::event::call, "expect_signals");
    lock_.expect_signals();
  }

  /// Nothing after the call: the lock may be gone.
  void unlock() {
    record(model_env::event::call, "unlock");
    lock_.unlock();
  }

 private:
  void record(model_env::event::kind what, const char* member) const {
    if (model_env::is_recording()) {
      model_env::history_now.add(
          {.what = what, .name = member, .owner = name_, .object = &lock_, .after = sizeof lock_});
    }
  }

  bool result(bool inside, const char* yes, const char* no) const {
    record(model_env::event::returned, inside ? yes : no);
    return inside;
  }

  L lock_;
  const char* name_;
};

}  // namespace lockwright::check
