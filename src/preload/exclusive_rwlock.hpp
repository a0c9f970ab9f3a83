// A mutex algorithm in place of a reader-writer lock. The functions are compiled for each
// algorithm, unlike their callers.
#pragma once

#include <pthread.h>
#include <time.h>

#include "interpose/deadline.hpp"
#include "preload/kind.hpp"

namespace lockwright::preload {

/// A pthread_rwlock_t that make() has initialised, or a static initialiser.
struct exclusive_rwlock {
  pthread_rwlock_t lock;

  static exclusive_rwlock& of(pthread_rwlock_t* lock) {
    return *reinterpret_cast<exclusive_rwlock*>(lock);
  }

  void make(kind_word kind);
  int destroy();
  int rdlock();
  int tryrdlock();
  int clockrdlock(interpose::deadline_clock clock, const timespec* deadline);
  int wrlock();
  int trywrlock();
  int clockwrlock(interpose::deadline_clock clock, const timespec* deadline);
  int unlock();
};

}  // namespace lockwright::preload
