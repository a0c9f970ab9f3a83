// std::atomic's interface over Relacy's atomics.
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>

#include "lockwright/env/model/lifetime.hpp"
#include "lockwright/env/model/location.hpp"
#include "lockwright/env/model/mutation.hpp"

namespace lockwright::model_env {

/// An atomic whose every operation is a scheduling point, and whose loads may return an older
/// value where the memory model allows it. Zeroed memory is an atomic that holds zero.
///
/// Two limits compared with the C++ memory model: a store always comes last in its atomic's
/// modification order, and a compare-and-swap that fails reads the latest value.
template <class T>
class atomic : lifetime {
  using checked = rl::generic_atomic<T, false>;
  friend class lifetime;

 public:
  constexpr atomic() : atomic(first_value<T>()) {}
  constexpr atomic(T value) {  // NOLINT: std::atomic converts implicitly too
    if (!std::is_constant_evaluated() && rl::is_ctx()) {
      begin();
      open(value);
    }
  }
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  ~atomic() {
    if (state() == live) {
      cell().~checked();
    }
    end(RL_INFO);
  }

  T load(std::memory_order order = std::memory_order_seq_cst,
         const location& at = location::current()) const {
    const std::memory_order mine = order_at(operation::load, at, order);
    const step now({next_step::load, this});
    this_thread().polls_a_word = std::is_same_v<T, std::uint32_t>;
    const checked& c = use(at);
    const T latest = is_recording() ? c.debug_value() : T{};
    const T value = c.load(relacy_order(mine), relacy_info(at));
    show(event::load, "load", mine, latest, value, at);
    return value;
  }

  void store(T value, std::memory_order order = std::memory_order_seq_cst,
             const location& at = location::current()) {
    const std::memory_order mine = order_at(operation::store, at, order);
    if (drops(at)) {
      return;
    }
    const step now({next_step::change, this});
    publish(value);
    checked& c = use(at);
    show(event::store, "store", mine, is_recording() ? c.debug_value() : T{}, value, at);
    c.store(value, relacy_order(mine), relacy_info(at));
  }

  T exchange(T value, std::memory_order order = std::memory_order_seq_cst,
             const location& at = location::current()) {
    return modify<rl::rmw_type_swap>(value, order, at);
  }
  T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst,
              const location& at = location::current()) {
    return modify<rl::rmw_type_add>(value, order, at);
  }
  T fetch_sub(T value, std::memory_order order = std::memory_order_seq_cst,
              const location& at = location::current()) {
    return modify<rl::rmw_type_sub>(value, order, at);
  }
  T fetch_and(T value, std::memory_order order = std::memory_order_seq_cst,
              const location& at = location::current()) {
    return modify<rl::rmw_type_and>(value, order, at);
  }
  T fetch_or(T value, std::memory_order order = std::memory_order_seq_cst,
             const location& at = location::current()) {
    return modify<rl::rmw_type_or>(value, order, at);
  }
  T fetch_xor(T value, std::memory_order order = std::memory_order_seq_cst,
              const location& at = location::current()) {
    return modify<rl::rmw_type_xor>(value, order, at);
  }

  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure,
                               const location& at = location::current()) {
    reached.note(operation::cas, at, success, failure);
    const bool split = splits(at);
    success = planted.hits(change::order, at) ? planted.order : success;
    failure = planted.hits(change::failure_order, at) ? planted.order : failure;
    {
      const step now({next_step::change, this});
      checked& c = use(at);
      const T found = c.debug_value();
      if (found != expected) {
        show(event::mismatch, "compare_exchange", failure, found, expected, at);
        // The failure order is passed as the success order too: Relacy accepts no failure
        // order that its success order does not include.
        return c.compare_exchange(rl::bool_t<false>(), expected, desired, relacy_order(failure),
                                  relacy_order(failure), relacy_info(at));
      }
      publish(desired);
      show(event::change, "compare_exchange", success, found, desired, at);
      if (!split) {
        return c.compare_exchange(rl::bool_t<false>(), expected, desired, relacy_order(success),
                                  relacy_info(at));
      }
    }
    const step later({next_step::change, this});
    use(at).store(desired, relacy_order(store_part(success)), relacy_info(at));
    return true;
  }
  bool compare_exchange_strong(T& expected, T desired,
                               std::memory_order order = std::memory_order_seq_cst,
                               const location& at = location::current()) {
    return compare_exchange_strong(expected, desired, order, load_part(order), at);
  }

  /// May fail spuriously, once per thread and operation.
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure, const location& at = location::current()) {
    // Otherwise the load below would be recorded.
    reached.note(operation::cas, at, success, failure);
    if (!failed_weakly_ && choose(2) == 1) {
      failed_weakly_ = true;
      expected = load(failure, at);
      return false;
    }
    return compare_exchange_strong(expected, desired, success, failure, at);
  }
  bool compare_exchange_weak(T& expected, T desired,
                             std::memory_order order = std::memory_order_seq_cst,
                             const location& at = location::current()) {
    return compare_exchange_weak(expected, desired, order, load_part(order), at);
  }

  /// A compare-and-swap of the low byte alone, from 0 to 1, with acquire order.
  bool set_low_byte(const location& at) {
    const std::memory_order mine = order_at(operation::rmw, at, std::memory_order_acquire);
    const bool split = splits(at);
    T found;
    {
      const step now({next_step::change, this});
      found = use(at).debug_value();
      if ((found & 0xff) != 0) {
        static_cast<void>(is(found + 1, at));  // It has seen the latest value.
        show(event::mismatch, "set_low_byte", std::memory_order_relaxed, found, found, at);
        return false;
      }
      if (!split) {
        show(event::change, "set_low_byte", mine, found, found | 1, at);
        use(at).rmw(rl::rmw_type_t<rl::rmw_type_or>(), T{1}, relacy_order(mine), relacy_info(at));
        return true;
      }
      found = use(at).load(relacy_order(load_part(mine)), relacy_info(at));
    }
    const step later({next_step::change, this});
    use(at).rmw(rl::rmw_type_t<rl::rmw_type_or>(), T{1}, rl::mo_relaxed, relacy_info(at));
    return true;
  }

  /// A store to the low byte alone, with release order.
  void clear_low_byte(const location& at) {
    const std::memory_order mine = order_at(operation::store, at, std::memory_order_release);
    if (drops(at)) {
      return;
    }
    const step now({next_step::change, this});
    checked& c = use(at);
    const T found = c.debug_value();
    show(event::store, "clear_low_byte", mine, found, found & ~T{0xff}, at);
    // It also continues earlier release sequences, which the machine does not guarantee: no lock
    // may rely on it. A thread that reads the byte reads this store alone.
    c.rmw(rl::rmw_type_t<rl::rmw_type_and>(), ~T{0xff}, relacy_order(mine), relacy_info(at));
  }

  operator T() const { return load(); }
  T operator=(T value) {
    store(value);
    return value;
  }

  /// True if the latest value is `value`; for the environment itself, within a step. Orders
  /// nothing, but after a thread has found another value its later loads return none older.
  [[nodiscard]] bool is(T value, const location& at) const {
    checked& c = use(at);
    return c.debug_value() == value ||
           c.compare_exchange(rl::bool_t<false>(), value, value, rl::mo_relaxed, relacy_info(at));
  }

  /// The same for 32 bits of the latest value, from the bit `shift` on.
  [[nodiscard]] bool has_half(std::uint32_t half, unsigned shift, const location& at) const {
    const T value = use(at).debug_value();
    if (static_cast<std::uint32_t>(value >> shift) == half) {
      return true;
    }
    return is(static_cast<T>(static_cast<std::uint64_t>(half) << shift), at);
  }

 private:
  static constexpr std::memory_order load_part(std::memory_order order) {
    switch (order) {
      case std::memory_order_acq_rel:
        return std::memory_order_acquire;
      case std::memory_order_release:
        return std::memory_order_relaxed;
      default:
        return order;
    }
  }
  static constexpr std::memory_order store_part(std::memory_order order) {
    switch (order) {
      case std::memory_order_acq_rel:
        return std::memory_order_release;
      case std::memory_order_acquire:
      case std::memory_order_consume:
        return std::memory_order_relaxed;
      default:
        return order;
    }
  }

  static constexpr const char* name_of(rl::rmw_type_e type) {
    switch (type) {
      case rl::rmw_type_swap:
        return "exchange";
      case rl::rmw_type_add:
        return "fetch_add";
      case rl::rmw_type_sub:
        return "fetch_sub";
      case rl::rmw_type_and:
        return "fetch_and";
      case rl::rmw_type_or:
        return "fetch_or";
      default:
        return "fetch_xor";
    }
  }

  void show(event::kind what, const char* name, std::memory_order order, T before, T after,
            const location& at) const {
    if (is_recording()) {
      history_now.add({.what = what,
                       .has_order = true,
                       .pointer = std::is_pointer_v<T>,
                       .order = order,
                       .name = name,
                       .object = this,
                       .before = bits_of(before),
                       .after = bits_of(after),
                       .at = at});
    }
  }

  template <rl::rmw_type_e type>
  T modify(T value, std::memory_order order, const location& at) {
    const std::memory_order mine = order_at(operation::rmw, at, order);
    if (!splits(at)) {
      const step now({next_step::change, this});
      publish(value);
      checked& c = use(at);
      if (is_recording()) {
        const T found = c.debug_value();
        show(event::change, name_of(type), mine, found,
             rl::perform_rmw(rl::rmw_type_t<type>(), found, value), at);
      }
      return c.rmw(rl::rmw_type_t<type>(), value, relacy_order(mine), relacy_info(at));
    }
    T before;
    {
      const step now({next_step::change, this});
      before = use(at).load(relacy_order(load_part(mine)), relacy_info(at));
    }
    const step later({next_step::change, this});
    publish(value);
    const T after = rl::perform_rmw(rl::rmw_type_t<type>(), before, value);
    show(event::store, name_of(type), mine, before, after, at);
    use(at).store(after, relacy_order(store_part(mine)), relacy_info(at));
    return before;
  }

  static void publish(T value) {
    if constexpr (std::is_pointer_v<T>) {
      execution_now.publish(value);
    } else if constexpr (sizeof(T) == sizeof(void*)) {
      // Perhaps an address, with marks in its low bits.
      execution_now.publish(reinterpret_cast<const void*>(value));
    }
  }

  /// Stores the first value at time 0, so that no thread reads the memory's earlier contents.
  /// `lifetime` checks that the object is not used before. (Relacy's own method leaves part of
  /// its record uninitialised.)
  void open(T value) const {
    ::new (static_cast<void*>(room_)) checked;
    rl::context& c = rl::ctx();
    const rl::preemption_disabler alone(c);
    rl::timestamp_t& time = c.threadx_->own_acq_rel_order_;
    const rl::timestamp_t before = time;
    time = 0;
    cell().store(value, rl::mo_relaxed, RL_INFO);
    time = before;
  }

  checked& cell() const { return *std::launder(reinterpret_cast<checked*>(room_)); }

  checked& use(const location& at) const {
    check_place(this, relacy_info(at));
    if (state() == zeroed) {
      adopt(const_cast<atomic*>(this));
      open(T{});
    }
    check_use(relacy_info(at));
    return cell();
  }

  /// Called when the block is given back; `making` is the block's.
  void destroy() { cell().~checked(); }

  alignas(checked) mutable unsigned char room_[sizeof(checked)] = {};
  bool failed_weakly_ = false;
};

/// A sequentially consistent fence. Besides the caller's own clocks it changes
/// the order of the fences, on which no other kind of step depends.
inline void fence(const location& at) {
  reached.note(operation::fence, at, std::memory_order_relaxed, std::memory_order_relaxed);
  if (drops(at)) {
    return;
  }
  static constexpr char order_of_fences = 0;
  const step now({next_step::change, &order_of_fences});
  record(event::fence, "fence seq_cst", nullptr, 0, at);
  rl::atomic_thread_fence(rl::mo_seq_cst, relacy_info(at));
}

}  // namespace lockwright::model_env
