// The C library's mutex as a lock in fewer bytes than a pthread_mutex_t.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

#include "interpose/real.hpp"
#include "lockwright/lock/pthread.hpp"
#include "preload/counting.hpp"
#include "preload/watch.hpp"

namespace lockwright::preload {

using interpose::real;

/// The first bytes of a pthread_mutex_t of type normal. Only robust mutexes and those with a
/// protocol use the others.
class library_lock {
 public:
  static constexpr lock_traits traits = libc_mutex<environment>::traits;

  arrival lock() {
    real.mutex_lock(mutex());
    return arrival::uncontended;
  }
  bool try_lock() { return real.mutex_trylock(mutex()) == 0; }
  bool try_lock_until(std::uint64_t deadline) {
    if (is_watched()) {  // the tool may not support mutex_clocklock
      while (!try_lock()) {
        if (native::now() >= deadline) {
          return false;
        }
        native::yield();
      }
      return true;
    }
    constexpr std::uint64_t second = 1'000'000'000;
    const timespec until{static_cast<time_t>(deadline / second),
                         static_cast<long>(deadline % second)};
    return real.mutex_clocklock(mutex(), CLOCK_MONOTONIC, &until) == 0;
  }
  void unlock() { real.mutex_unlock(mutex()); }

 private:
  // Zero is the static initialiser's value.
  static constexpr std::size_t size_ = offsetof(pthread_mutex_t, __data.__list);

  pthread_mutex_t* mutex() {
    void* self = this;
    asm("" : "+r"(self));  // Hides the object's size from the compiler.
    return static_cast<pthread_mutex_t*>(self);
  }

  [[maybe_unused]] alignas(8) unsigned char bytes_[size_]{};
};

}  // namespace lockwright::preload
