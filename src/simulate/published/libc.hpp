// The C library's mutexes as programs call them, without the layer of Lockwright's libraries.
#pragma once

#include "lockwright/lock/pthread.hpp"
#include "lockwright/lock/pthreadadapt.hpp"

namespace lockwright::simulate {

template <class Env>
class normal_mutex {
 public:
  static constexpr lock_traits traits = lockwright::libc_mutex<Env>::traits;

  arrival lock() { return mutex_.lock() ? arrival::contended : arrival::uncontended; }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  typename Env::libc_mutex mutex_;
};

/// PTHREAD_MUTEX_ADAPTIVE_NP.
template <class Env>
class adaptive_mutex {
 public:
  static constexpr lock_traits traits = pthreadadapt<Env>::traits;

  arrival lock() { return mutex_.lock_adaptively() ? arrival::contended : arrival::uncontended; }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  typename Env::libc_mutex mutex_;
};

}  // namespace lockwright::simulate
