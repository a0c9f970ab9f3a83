// The programs of one lock, for `lockwright check`, which compiles a source with
//   LOCKWRIGHT_ROW("name", checked, "header", type over Env)   in lockwright::
// and, after it, this header.
#pragma once

#include <concepts>
#include <type_traits>
#include <vector>

#include "cases.hpp"

namespace lockwright::check {

/// The programs of the lock.
std::vector<test_case> cases_of_the_lock();

// Each begins with the text that the command searches for in the compiler's output.
template <class L>
constexpr bool is_a_lock() {
  static_assert(std::default_initializable<L>, "a lock needs: a default constructor");
  static_assert(
      requires(L lock) {
        { lock.lock() } -> std::same_as<arrival>;
      }, "a lock needs: arrival lock()");
  static_assert(
      requires(L lock) {
        { lock.try_lock() } -> std::same_as<bool>;
      }, "a lock needs: bool try_lock()");
  static_assert(
      requires(L lock) {
        { lock.unlock() } -> std::same_as<void>;
      }, "a lock needs: void unlock()");
  static_assert(
      requires {
        { L::traits } -> std::convertible_to<lock_traits>;
      }, "a lock needs: static constexpr lock_traits traits");
  return TryLock<L>;
}

}  // namespace lockwright::check
