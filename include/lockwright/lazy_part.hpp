// The part of a lock that does not fit in place: made at the first use, given
// back when the lock is destroyed.
#pragma once

#include <atomic>
#include <cstddef>
#include <type_traits>

namespace lockwright {

/// A pointer to a T that is made at the first get(), of T::bytes() bytes of
/// zeroed memory from Env::reserve(). Zeroed memory is an empty lazy_part.
///
/// Invariant ONE-MAKER: exactly one thread's T is installed; the others give
/// theirs back and use that one.
template <class Env, class T>
class lazy_part {
 public:
  constexpr lazy_part() = default;
  lazy_part(const lazy_part&) = delete;
  lazy_part& operator=(const lazy_part&) = delete;

  // constexpr makes the lock a literal type, which some compilers ask of what is
  // initialised statically. Nothing is ever made while they evaluate it.
  constexpr ~lazy_part() {
    if (!std::is_constant_evaluated()) {
      give_back();
    }
  }

  /// What the part takes once it is made.
  static std::size_t bytes() { return Env::reserved_size(T::bytes()); }

  T& get() {
    if (T* part = made()) [[likely]] {
      return *part;
    }
    return *make();
  }

  /// The part if it has been made, else null. Acquire pairs with the release in
  /// make(): the zeroed memory is seen.
  T* made() const { return part_.load(std::memory_order_acquire); }

 private:
  // Relaxed: who destroys a lock knows by other means that nobody uses it any more.
  void give_back() {
    if (T* made = part_.load(std::memory_order_relaxed)) {
      Env::unreserve(made, T::bytes());
    }
  }

  [[gnu::noinline]] T* make() {
    T* mine = static_cast<T*>(Env::reserve(T::bytes()));
    T* other = nullptr;
    // mutant survives in glk: failing acquire -> relaxed, in two steps: only who is inside makes
    // the part, so no two threads do.
    if (part_.compare_exchange_strong(other, mine, std::memory_order_release,
                                      std::memory_order_acquire)) {
      return mine;
    }
    Env::unreserve(mine, T::bytes());
    return other;
  }

  typename Env::template atomic<T*> part_{};
};

}  // namespace lockwright
