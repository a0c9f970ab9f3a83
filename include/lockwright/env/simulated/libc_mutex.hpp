// The C library's mutex, after nptl/pthread_mutex_lock.c, pthread_mutex_unlock.c, lowlevellock.c and
// lowlevellock.h of the GNU C Library: the normal kind without elision, and the adaptive kind as it
// was up to version 2.35.
#pragma once

#include <algorithm>
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

  /// As lock(), of the adaptive kind.
  bool lock_adaptively() {
    read_kind();
    const bool waits = !take_free();
    if (waits) {
      try_and_wait();
    }
    own();
    return waits;
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

  void try_and_wait() {
    constexpr std::uint32_t most = 100;
    const std::uint32_t usual = tries_;
    const std::uint32_t enough = std::min(most, 2 * usual + 10);
    std::uint32_t needed = 0;
    do {
      if (needed++ >= enough) {
        if (!take_free()) {
          wait();
        }
        break;
      }
      Env::relax();
    } while (!take_free());
    const auto change = (static_cast<std::int32_t>(needed) - static_cast<std::int32_t>(usual)) / 8;
    tries_ = usual + static_cast<std::uint32_t>(change);
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
  typename Env::template plain<std::uint32_t> tries_{};
  typename Env::template plain<std::uint32_t> list_[4]{};
};

}  // namespace lockwright::simulated_env
