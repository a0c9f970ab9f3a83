// The programs of one lock, a mutex or a reader-writer lock, for `lockwright check`, which compiles a
// source with
//   LOCKWRIGHT_ROW("name", checked, "header", type over Env)   in lockwright::
// and, after it, this header.
#pragma once

#include <concepts>
#include <type_traits>
#include <vector>

#include "cases.hpp"
#include "rw_cases.hpp"

namespace lockwright::check {

/// The programs of the lock.
std::vector<test_case> cases_of_the_lock();

template <class L>
inline constexpr bool is_reader_writer = requires(L lock) { lock.unlock_read(); };

// Each begins with the text that the command searches for in the compiler's output.

template <class L>
constexpr bool has_mutex_members() {
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

template <class L>
constexpr bool has_reader_writer_members() {
  static_assert(
      requires(L lock, bool passes) {
        { lock.lock_read(passes) } -> std::same_as<admission>;
      }, "a lock needs: admission lock_read(bool passes, std::uint64_t deadline = ...)");
  static_assert(
      requires(L lock) {
        { lock.lock_write() } -> std::same_as<arrival>;
      }, "a lock needs: arrival lock_write()");
  static_assert(
      requires {
        { L::traits } -> std::convertible_to<rwlock_traits>;
      }, "a lock needs: static constexpr rwlock_traits traits");
  static_assert(RwLock<L>, "a lock needs: all members that lockwright/rwlock.hpp lists");
  return true;
}

template <class L>
constexpr bool is_a_lock() {
  static_assert(std::default_initializable<L>, "a lock needs: a default constructor");
  if constexpr (is_reader_writer<L>) {
    return has_reader_writer_members<L>();
  } else {
    return has_mutex_members<L>();
  }
}

template <class L>
std::vector<test_case> cases_of_kind() {
  if constexpr (is_reader_writer<L>) {
    return rw_cases<L>();
  } else {
    return cases_of<L>();
  }
}

}  // namespace lockwright::check
