// The lock of a mutex in a library of one algorithm.
#pragma once

#include "lockwright/lock.hpp"
#include "preload/kind.hpp"

namespace lockwright::preload {

template <class L>
class inline_lock {
 public:
  static constexpr bool is_two_step = TwoStepLock<L>;

  /// Returns true: no kind word is needed to know the algorithm.
  static constexpr bool is_known(kind_word) { return true; }

  /// Returns call(owner, the lock).
  template <class Owner, class Call>
  [[gnu::always_inline]] auto with_lock(kind_word, Owner& owner, Call call) {
    return call(owner, lock_);
  }

 private:
  L lock_{};
};

}  // namespace lockwright::preload
