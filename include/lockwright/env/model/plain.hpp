// A variable that only the lock's holder may touch.
#pragma once

#include <cstdint>
#include <type_traits>

#include "lockwright/env/model/lifetime.hpp"
#include "lockwright/env/model/location.hpp"
#include "lockwright/env/model/mutation.hpp"

namespace lockwright::model_env {

/// Reads and writes that are not ordered by happens-before fail the execution.
/// An access is not a scheduling point: the race detector does not need one.
template <class T>
class plain {
  /// A value and the location of its assignment: an operator cannot have a default argument.
  struct assigned {
    T value;
    location at;
    assigned(T v, const location& here = location::current())  // NOLINT: stands for a T
        : value(v), at(here) {}
  };

 public:
  constexpr plain() : plain(first_value<T>()) {}
  constexpr explicit plain(T value) : value_(value) {
    if (!std::is_constant_evaluated() && rl::is_ctx()) {
      open();
    }
  }
  plain(const plain&) = delete;

  ~plain() {
    if (races_ != nullptr) {
      touch(races_->store(thread()));
      rl::ctx().var_dtor(races_);
      // Volatile: otherwise the compiler omits a store to a dead object.
      *const_cast<rl::var_data* volatile*>(&races_) = dead();
    }
  }

  operator T() const {
    open();
    show(event::read, value_, {});
    touch(races_->load(thread()));
    return value_;
  }

  plain& operator=(const assigned& to) {
    open();
    reached.note(operation::assignment, to.at, std::memory_order_relaxed,
                 std::memory_order_relaxed);
    if (drops(to.at)) {
      return *this;
    }
    show(event::write, to.value, to.at);
    touch(races_->store(thread()));
    value_ = to.value;
    if constexpr (std::is_pointer_v<T>) {
      execution_now.publish(to.value);
    }
    return *this;
  }
  plain& operator=(const plain& other) { return *this = static_cast<T>(other); }

  T operator->() const { return *this; }

 private:
  static rl::thread_info_base& thread() { return *rl::ctx().threadx_; }

  /// The value of races_ in an object that has been destroyed, or whose memory was given back.
  static rl::var_data* dead() {
    return reinterpret_cast<rl::var_data*>(std::uintptr_t{0xdddd'dddd'dddd'dddd});
  }

  void open() const {
    check_place(this, RL_INFO);
    if (races_ == dead()) {
      fail("used after its end", rl::test_result_access_to_freed_memory, RL_INFO);
    }
    if (races_ == nullptr) {
      races_ = rl::ctx().var_ctor();
      races_->init(thread());
      if (block* b = execution_now.block_of(this)) {
        b->objects[b->count++] = {const_cast<plain*>(this), [](void* o) {
                                    rl::ctx().var_dtor(static_cast<plain*>(o)->races_);
                                  }};
      }
    }
  }

  void show(event::kind what, T value, const location& at) const {
    if (is_recording()) {
      history_now.add({.what = what,
                       .pointer = std::is_pointer_v<T>,
                       .object = this,
                       .before = bits_of(value_),
                       .after = bits_of(value),
                       .at = at});
    }
  }

  static void touch(bool ordered) {
    if (!ordered) {
      fail("two threads are inside at once, or the second does not see what the first did",
           rl::test_result_data_race, RL_INFO);
    }
  }

  T value_{};
  mutable rl::var_data* races_ = nullptr;
};

}  // namespace lockwright::model_env
