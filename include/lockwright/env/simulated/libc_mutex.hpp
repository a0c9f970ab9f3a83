// The C library's mutex, after nptl/pthread_mutex_lock.c, lowlevellock.c and lowlevellock.h of the
// GNU C Library 2.36: the normal kind without elision.
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
  void lock() {
    if (!take_free()) {
      wait();
    }
    own();
  }

  bool try_lock() {
    if (!take_free()) {
      return false;
    }
    own();
    return true;
  }

  void unlock() {
    owner_ = 0;
    users_ = users_ - 1;
    if (lock_.exchange(0) > 1) {
      Env::wake(lock_, 1);
    }
  }

 private:
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

  // Five words of 40 bytes, in the library's order.
  typename Env::template atomic<std::uint32_t> lock_{};
  typename Env::template plain<std::uint32_t> count_{};
  typename Env::template plain<std::uint32_t> owner_{};
  typename Env::template plain<std::uint32_t> users_{};
  typename Env::template plain<std::uint32_t> kind_{};
  typename Env::template plain<std::uint32_t> rest_[5]{};
};

}  // namespace lockwright::simulated_env
