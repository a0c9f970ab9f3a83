// The lifetime of an object of the model: a thread may use it only if its construction happens
// before that, and not after its end.
#pragma once

#include <cstdint>
#include <type_traits>

#include "lockwright/env/model/execution.hpp"

namespace lockwright::model_env {

/// Dead objects, to which a pointer points that no thread has set.
alignas(64) inline std::byte graveyard[execution::node_size];

/// Zero, but junk in a queue node, whose content is arbitrary.
template <class T>
constexpr T first_value() {
  if (!std::is_constant_evaluated() && rl::is_ctx() && this_thread().makes_node != 0) {
    if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<T>(graveyard);
    } else if constexpr (sizeof(T) == 1) {
      return static_cast<T>(this_thread().makes_node % 2 ==
                            0);  // either, in the nodes of one program
    } else {
      return static_cast<T>(1);  // what a lock would take for a state of its own
    }
  }
  return T{};
}

/// Fails where the machine would fault: `place` is near null, or not an address.
inline void check_place(const void* place, const rl::debug_info& info) {
  constexpr std::uintptr_t unmapped = 4096;
  if (reinterpret_cast<std::uintptr_t>(place) < unmapped) {
    fail("a null pointer is followed", rl::test_result_unitialized_access, info);
  }
  constexpr std::uintptr_t beyond = std::uintptr_t{1} << 48;  // on both architectures
  if (reinterpret_cast<std::uintptr_t>(place) >= beyond ||
      reinterpret_cast<std::uintptr_t>(place) % alignof(std::uint32_t) != 0) {
    fail("an invalid address is dereferenced", rl::test_result_unitialized_access, info);
  }
}

/// The state of every atomic of the model besides its value.
///
///   state  | meaning                                      | next
///   zeroed | zeroed memory: a good object, not yet used   | live, at the first use
///   live   | in use                                       | dead, at its end
///   dead   | destroyed, or in memory that was given back  | live, when made anew
///
/// `making` is a non-atomic variable for the race detector: construction writes it, each
/// use reads it, and the end writes it again. So a use that construction does not happen before,
/// or that does not happen before the end, is a data race: a node was published without release,
/// or recycled while a thread may still access it.
class lifetime {
 protected:
  enum : std::uint8_t { zeroed = 0, live = 1, dead = 2 };

  constexpr lifetime() = default;

  /// The calling thread constructs the object.
  void begin() {
    rl::context& c = rl::ctx();
    making_ = c.var_ctor();
    making_->init(*c.threadx_);
    state_ = live;
  }

  /// Begins the lifetime of zeroed memory. In a reserved block it counts as constructed with it.
  template <class Object>
  void adopt(Object* self) const {
    if (block* b = execution_now.block_of(self)) {
      if (b->count == block::max_objects) {
        fail("more objects in reserved memory than this model holds",
             rl::test_result_inconsistent_test_suite, RL_INFO);
      }
      b->objects[b->count++] = {self, [](void* o) { static_cast<Object*>(o)->destroy(); }};
      making_ = b->making;
    }
    state_ = live;
  }

  void check_use(const rl::debug_info& info) const {
    if (state_ != live) {
      fail("used after its end", rl::test_result_access_to_freed_memory, info);
    }
    if (making_ != nullptr && !making_->load(*rl::ctx().threadx_)) {
      fail("used by a thread that its making does not happen before", rl::test_result_data_race,
           info);
    }
  }

  void end(const rl::debug_info& info) {
    if (state_ == live && making_ != nullptr) {
      rl::context& c = rl::ctx();
      if (!making_->store(*c.threadx_)) {
        fail("destroyed while another thread may be using it", rl::test_result_data_race, info);
      }
      c.var_dtor(making_);
    }
    state_ = dead;
  }

  [[nodiscard]] std::uint8_t state() const { return state_; }

 private:
  mutable std::uint8_t state_ = zeroed;
  mutable rl::var_data* making_ = nullptr;
};

}  // namespace lockwright::model_env
