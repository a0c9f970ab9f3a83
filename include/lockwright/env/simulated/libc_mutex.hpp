// The C library's mutex, after nptl/pthread_mutex_lock.c, pthread_mutex_unlock.c, lowlevellock.c and
// lowlevellock.h of the GNU C Library: the normal kind without elision.
#pragma once

#include <cstdint>

namespace lockwright::simulated_env {

///   lock | meaning
///   0    | free
///   1    | held, no thread sleeps
///   2    | held, threads may sleep
template <class Env>
class libc_mutex {
 public:
  /// True if it had to wait.
  bool lock() {
    read_kind();
    const bool waits = !take_free();
    if (waits) {
      wait();
    }
    own();
    return waits;
  }

  bool try_lock() {
    read_kind();
    if (!take_free()) {
      return false;
    }
    own();
    return true;
  }

  void unlock() {
    read_kind();
    owner_ = 0;
    users_ = users_ - 1;
    if (lock_.exchange(0) > 1) {
      Env::wake(lock_, 1);
    }
  }

 private:
  /// Each call begins with it. The kind is on the lock's line.
  void read_kind() const { static_cast<void>(static_cast<std::uint32_t>(kind_)); }

  bool take_free() {
    std::uint32_t free = 0;
    return lock_.compare_exchange_strong(free, 1);
  }

  void wait() {
    if (lock_.load() == 2) {
      Env::wait(lock_, 2);
    }
    while (lock_.exchange(2) != 0) {
      Env::wait(lock_, 2);
    }
  }

  void own() {
    owner_ = Env::self();
    users_ = users_ + 1;
  }

  // 40 bytes, in the library's order.
  typename Env::template atomic<std::uint32_t> lock_{};
  typename Env::template plain<std::uint32_t> count_{};
  typename Env::template plain<std::uint32_t> owner_{};
  typename Env::template plain<std::uint32_t> users_{};
  typename Env::template plain<std::uint32_t> kind_{};
  typename Env::template plain<std::uint32_t> rest_[5]{};
};

}  // namespace lockwright::simulated_env
