// pthread: the C library's mutex, behind the same layer as every other lock. The baseline of
// comparisons: a difference from it is due to the algorithm, not to the interposition.
//
// Citation: the GNU C Library's nptl; its normal mutex is Drepper's, "Futexes Are Tricky", 2011.
//
//   state | the C library's; not read or written here
//
// Invariants
//   SAME-MUTEX every operation is one on the C library's mutex.
#pragma once

#include "lockwright/lock.hpp"

namespace lockwright {

template <class Env>
class libc_mutex {
 public:
  static constexpr lock_traits traits{
      .category = category::library,
      .waiting = waiting::park,
      .realtime = realtime::by_priority,
      .light = true,
      .reference = "GNU C Library, nptl",
      .summary =
          "The C library's own mutex behind the same layer as the others. The baseline of "
          "every comparison."};

  arrival lock() {
    if (mutex_.try_lock()) {
      return arrival::uncontended;
    }
    mutex_.lock();
    return arrival::contended;
  }

  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  typename Env::libc_mutex mutex_;
};

}  // namespace lockwright
