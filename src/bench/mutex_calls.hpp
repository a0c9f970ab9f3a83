// The calls of a mutex in the two forms that a workload is compiled in: POSIX calls,
// which a preload library replaces, or direct calls of a lock's header.
#pragma once

#include <pthread.h>

#include <cerrno>

#include "../calibrate/support.hpp"

namespace bench {

inline void expect_success(int error, const char* call) {
  if (error != 0) [[unlikely]] {
    must(error, call);
  }
}

// A lock of lockwright/lock/.
template <class Mutex>
struct mutex_calls {
  static Mutex initial() { return Mutex{}; }
  static void lock(Mutex* m) { m->lock(); }
  static bool try_lock(Mutex* m) { return m->try_lock(); }
  static void unlock(Mutex* m) { m->unlock(); }
};

template <>
struct mutex_calls<pthread_mutex_t> {
  static pthread_mutex_t initial() { return PTHREAD_MUTEX_INITIALIZER; }
  static void lock(pthread_mutex_t* m) {
    expect_success(pthread_mutex_lock(m), "pthread_mutex_lock");
  }
  // Returns false if a thread holds it.
  static bool try_lock(pthread_mutex_t* m) {
    const int error = pthread_mutex_trylock(m);
    if (error == EBUSY) {
      return false;
    }
    expect_success(error, "pthread_mutex_trylock");
    return true;
  }
  static void unlock(pthread_mutex_t* m) {
    expect_success(pthread_mutex_unlock(m), "pthread_mutex_unlock");
  }
};

}  // namespace bench
