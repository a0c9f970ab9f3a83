// A variable that only the lock's holder may touch.
#pragma once

#include <cstdint>
#include <ostream>
#include <type_traits>

#include "lockwright/env/model/lifetime.hpp"

namespace lockwright::model_env {

/// Reads and writes that are not ordered by happens-before fail the execution.
/// No other thread comes in at an access: the race detector does not need it.
template <class T>
class plain {
  struct access {
    const void* where;
    T value;
    const char* what;
    void output(std::ostream& s) const {
      s << "<" << where << "> " << what << ", value=" << +value;
    }
  };

 public:
  constexpr plain() : plain(T{}) {}
  constexpr plain(T value) : value_(value) {  // NOLINT: stands for a T
    if (!std::is_constant_evaluated() && rl::is_ctx()) {
      open();
    }
  }
  plain(const plain&) = delete;

  ~plain() {
    if (races_ != nullptr) {
      touch(races_->store(thread()), "end");
      rl::ctx().var_dtor(races_);
      // Volatile: the compiler knows that nobody may look at a dead object.
      *const_cast<rl::var_data* volatile*>(&races_) = dead();
    }
  }

  operator T() const {
    open();
    touch(races_->load(thread()), "read");
    return value_;
  }

  plain& operator=(T value) {
    open();
    touch(races_->store(thread()), "write");
    value_ = value;
    if constexpr (std::is_pointer_v<T>) {
      execution_now.publish(value);
    }
    return *this;
  }
  plain& operator=(const plain& other) { return *this = static_cast<T>(other); }

  T operator->() const { return *this; }

 private:
  static rl::thread_info_base& thread() { return *rl::ctx().threadx_; }

  /// What races_ holds in an object that has been destroyed, or whose memory was given back.
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

  void touch(bool ordered, const char* what) const {
    rl::context& c = rl::ctx();
    if (c.collecting_history()) {
      c.exec_log(RL_INFO, access{this, value_, what});
    }
    if (!ordered) {
      fail("two threads are inside at once, or the second does not see what the first did",
           rl::test_result_data_race, RL_INFO);
    }
  }

  T value_{};
  mutable rl::var_data* races_ = nullptr;
};

}  // namespace lockwright::model_env
