// A lock with what the preload libraries put around it, so that their condition variables work.
#pragma once

#include <atomic>
#include <cstdint>

#include "../workload.hpp"
#include "preload/basic_condvar.hpp"

namespace lockwright::simulate {

/// A process that has not forked, which no tool watches.
struct shipped : simulated {
  static std::uint32_t stamp() { return 0; }
  static bool is_watched() { return false; }
};

/// What src/preload/replaced_mutex.hpp makes of a lock.
class guarded {
 public:
  using object = guarded;
  using condvar = preload::basic_condvar<shipped, guarded>;

  explicit guarded(const context& with)
      : in_{with.in}, parks_{with.lock->parks}, site_{with.make_site()} {}

  void lock() {
    site_->lock();
    owner_.store(simulated::self(), std::memory_order_relaxed);
  }

  void unlock() {
    if (signalled_.empty()) {
      disown();
      site_->unlock();
    } else {
      signalled_.grant_first_after([this] { disown(); }, [this] { site_->unlock(); });
    }
  }

  /// The caller has it, and has it again when it returns.
  void wait(condvar& cond) {
    preload::wait_with<shipped, guarded, condvar> wait{cond, condvar::waiter(this)};
    cond.enqueue(wait.self, true);
    site_->expect_signals();
    unlock();
    wait.sleep_until_signalled(true, [&] {
      simulated::wait(wait.self.state, condvar::waiter::waiting);
      return true;
    });
    wait.self.await_grant();
    wait.reacquire_mutex();
  }

  void change_data() { site_->change_data(); }

  static bool waiters_park(guarded* mutex) { return mutex->parks_; }
  static auto* signalled(guarded* mutex) { return &mutex->signalled_; }
  static bool is_held_by_caller(guarded* mutex) { return mutex->site_->is_held_by_caller(); }
  static int reacquire(guarded* mutex, bool) {
    mutex->lock();
    return 0;
  }

 private:
  void disown() { owner_.store(0, std::memory_order_relaxed); }

  simulation& in_;
  bool parks_;
  std::unique_ptr<site> site_;
  preload::basic_signalled_queue<shipped, guarded> signalled_;
  simulated::atomic<std::uint32_t> owner_{0};
};

}  // namespace lockwright::simulate
