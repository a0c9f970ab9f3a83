// A lock that lies mostly outside the mutex.
#pragma once

#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/lazy_part.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// The lock L over an L::part, made at the first use and passed to each call: lock(part),
/// try_lock(part), unlock(part), and, if it has them, try_lock_until(part, deadline), and
/// begin(part) for a new part. The other members of L are in place.
///
/// begin(part) makes an unlocked lock of a zeroed part and L's words in place, which may be those
/// of a copied lock; L needs none if they already are one.
///
/// Where there is no memory, another lock permanently replaces L: one word, whose waiters sleep
/// (see lazy_part).
template <class Env, class L>
class outside {
  using part = typename L::part;

 public:
  using algorithm = L;

  static constexpr lock_traits traits = L::traits;
  static constexpr auto tunables = [] {
    if constexpr (requires { L::tunables; }) {
      return L::tunables;
    } else {
      return tunable_list<0>{};
    }
  }();

  static std::uint64_t bytes_outside() { return lazy_part<Env, part>::bytes(); }

  // Inlined, which saves a call.

  [[gnu::always_inline]] arrival lock() {
    part* all = get();
    return all != nullptr ? algorithm_.lock(*all) : part_.lock_word();
  }

  [[gnu::always_inline]] bool try_lock() {
    part* all = get();
    return all != nullptr ? algorithm_.try_lock(*all) : part_.try_lock_word();
  }

  bool try_lock_until(std::uint64_t deadline)
    requires requires(L lock, part& all) { lock.try_lock_until(all, deadline); }
  {
    part* all = get();
    return all != nullptr ? algorithm_.try_lock_until(*all, deadline)
                          : part_.try_lock_word_until(deadline);
  }

  [[gnu::always_inline]] void unlock() {
    if (part* all = part_.held()) [[likely]] {
      algorithm_.unlock(*all);
    } else {
      part_.unlock_word();
    }
  }

 private:
  part* get() {
    return part_.get([this](part& all) {
      if constexpr (requires { algorithm_.begin(all); }) {
        algorithm_.begin(all);
      }
    });
  }

  // Most locks have nothing in place, and then take no space there.
  [[no_unique_address]] L algorithm_;
  lazy_part<Env, part> part_;
};

}  // namespace lockwright
