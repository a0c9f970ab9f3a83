// The lock of a mutex in the mixed library: the kind word of the mutex gives its algorithm.
#pragma once

#include <cstddef>
#include <type_traits>

#include "lockwright/lock/pthread.hpp"
#include "lockwright/rows.hpp"
#include "preload/counting.hpp"
#include "preload/kind.hpp"
#include "preload/mixed/algorithm.hpp"

namespace lockwright::preload {

/// Storage for the lock of any algorithm. Zeroed memory is an unlocked lock of each.
class lock_variant {
 public:
  static constexpr bool is_two_step = false;  // not all are

  /// Returns true if the kind word gives an algorithm whose lock is stored here.
  [[gnu::always_inline]] static constexpr bool is_known(kind_word kind) {
    const algorithm which = algorithm_of(kind);
    return which > algorithm::c_library && which < algorithm::end;
  }

  /// Returns call(owner, the lock with its own type), for a kind word that is_known(). A switch on
  /// the algorithm's number reaches its function: there is no pointer that could be overwritten.
  template <class Owner, class Call>
  [[gnu::always_inline]] auto with_lock(kind_word kind, Owner& owner, Call call) {
    switch (algorithm_of(kind)) {
#define LOCKWRIGHT_LOCK(name, identifier, ...)                                   \
  case algorithm::of_##identifier:                                               \
    if constexpr (!is_libc<identifier##_row::lock<environment>>()) {             \
      return call_out_of_line<identifier##_row::lock<environment>>(owner, call); \
    }                                                                            \
    __builtin_unreachable();
#include "lockwright/built.def"
#undef LOCKWRIGHT_LOCK
      default:
        __builtin_unreachable();
    }
  }

 private:
  template <class L>
  struct is_libc : std::false_type {};
  template <class Env>
  struct is_libc<libc_mutex<Env>> : std::true_type {};

  /// One function for each algorithm, as short as in a library of its own, which the switch
  /// above jumps to: in one common function, each would save the registers of the longest.
  template <class L, class Owner, class Call>
  [[gnu::noinline]] auto call_out_of_line(Owner& owner, Call call) {
    static_assert(sizeof(L) <= sizeof storage_ && alignof(L) <= alignof(lock_variant));
    return call(owner, *reinterpret_cast<L*>(storage_));
  }

  alignas(8) std::byte storage_[16]{};
};

}  // namespace lockwright::preload
