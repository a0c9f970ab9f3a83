// A reader-writer lock that records the calls and returns of its members for the trace of a failing
// execution.
#pragma once

#include <cstdint>

#include "lockwright/env/model.hpp"
#include "lockwright/rwlock.hpp"

namespace lockwright::check {

template <class L>
class traced_rwlock {
 public:
  admission lock_read(bool passes) {
    record(model_env::event::call, "lock_read");
    return result(lock_.lock_read(passes), "lock_read: it is inside", "lock_read: refused");
  }
  admission lock_read(bool passes, std::uint64_t deadline) {
    record(model_env::event::call, "lock_read with a deadline");
    return result(lock_.lock_read(passes, deadline), "lock_read: it is inside",
                  "lock_read: too late");
  }
  admission try_lock_read(bool passes) {
    record(model_env::event::call, "try_lock_read");
    return result(lock_.try_lock_read(passes), "try_lock_read: it is inside",
                  "try_lock_read: refused");
  }
  /// Nothing after the call, here and in unlock_write(): the lock may be gone.
  void unlock_read() {
    record(model_env::event::call, "unlock_read");
    lock_.unlock_read();
  }

  void lock_write() {
    record(model_env::event::call, "lock_write");
    lock_.lock_write();
    record(model_env::event::returned, "lock_write: it is inside");
  }
  bool try_lock_write() {
    record(model_env::event::call, "try_lock_write");
    return result(lock_.try_lock_write(), "try_lock_write: it is inside",
                  "try_lock_write: refused");
  }
  bool try_lock_write_until(std::uint64_t deadline) {
    record(model_env::event::call, "try_lock_write_until");
    return result(lock_.try_lock_write_until(deadline), "try_lock_write_until: it is inside",
                  "try_lock_write_until: too late");
  }
  void unlock_write(bool writers_first = false) {
    record(model_env::event::call, "unlock_write");
    lock_.unlock_write(writers_first);
  }

  [[nodiscard]] bool is_written() const { return lock_.is_written(); }

 private:
  void record(model_env::event::kind what, const char* member) const {
    if (model_env::is_recording()) {
      model_env::history_now.add({.what = what,
                                  .name = member,
                                  .owner = "the lock",
                                  .object = &lock_,
                                  .after = sizeof lock_});
    }
  }

  static bool is_inside(bool inside) { return inside; }
  static bool is_inside(admission outcome) { return outcome == admission::inside; }

  template <class Outcome>
  Outcome result(Outcome outcome, const char* yes, const char* no) const {
    record(model_env::event::returned, is_inside(outcome) ? yes : no);
    return outcome;
  }

  L lock_;
};

}  // namespace lockwright::check
