// std::atomic's interface over the simulated caches, and variables of a lock's holder.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lockwright/env/simulated/engine.hpp"

namespace lockwright::simulated_env {

/// A value in simulated memory, with the size and alignment of std::atomic<T>, so that the layout in
/// lines is the same. Zeroed memory holds zero.
template <class T>
class cell {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);

 public:
  constexpr cell() : cell(T{}) {}
  constexpr cell(T value) : value_(value) {  // NOLINT: std::atomic converts implicitly too
    if (!std::is_constant_evaluated() && is_inside()) {
      put(value);
    }
  }
  cell(const cell&) = delete;
  cell& operator=(const cell&) = delete;
  ~cell() { forget_stores(place()); }

 protected:
  [[nodiscard]] T get() const {
    if (!is_inside()) {
      return value_;
    }
    const std::uint64_t bits = simulated_env::load(place(), sizeof(T));
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
    return value;
  }

  void put(T value) {
    if (!is_inside()) {
      value_ = value;
      return;
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const void*>(&value), sizeof(T));
    simulated_env::store(place(), bits, sizeof(T));
  }

  void put_low_byte(std::uint8_t byte) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    if (!is_inside()) {
      std::memcpy(place(), &byte, 1);
      return;
    }
    simulated_env::store(place(), byte, 1);
  }

  /// The value, which only the caller reads and writes until its next step.
  T& own() {
    if (is_inside()) {
      begin_change(place());
    }
    return value_;
  }

  /// The same without a step, for a word on a line that own() of another one has brought.
  T& known() { return value_; }

 private:
  [[nodiscard]] const void* place() const { return static_cast<const void*>(&value_); }
  [[nodiscard]] void* place() { return static_cast<void*>(&value_); }

  alignas(sizeof(T)) T value_;
};

/// The order of memory is that of x86-64, total store order, whatever the caller requests: a store
/// waits in the store buffer, unless it is sequentially consistent.
template <class T>
class atomic : cell<T> {
 public:
  using cell<T>::cell;

  T load(std::memory_order = std::memory_order_seq_cst) const { return this->get(); }

  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    if (order == std::memory_order_seq_cst) {
      this->own() = value;
    } else {
      this->put(value);
    }
  }

  T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
    return change([value](T) { return value; });
  }
  T fetch_add(T value, std::memory_order = std::memory_order_seq_cst) {
    return change([value](T before) { return static_cast<T>(before + value); });
  }
  T fetch_sub(T value, std::memory_order = std::memory_order_seq_cst) {
    return change([value](T before) { return static_cast<T>(before - value); });
  }
  T fetch_and(T value, std::memory_order = std::memory_order_seq_cst) {
    return change([value](T before) { return static_cast<T>(before & value); });
  }
  T fetch_or(T value, std::memory_order = std::memory_order_seq_cst) {
    return change([value](T before) { return static_cast<T>(before | value); });
  }
  T fetch_xor(T value, std::memory_order = std::memory_order_seq_cst) {
    return change([value](T before) { return static_cast<T>(before ^ value); });
  }

  bool compare_exchange_strong(T& expected, T desired,
                               std::memory_order = std::memory_order_seq_cst,
                               std::memory_order = std::memory_order_seq_cst) {
    T& value = this->own();
    if (value != expected) {
      expected = value;
      return false;
    }
    value = desired;
    return true;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order = std::memory_order_seq_cst,
                             std::memory_order = std::memory_order_seq_cst) {
    return compare_exchange_strong(expected, desired);
  }

  bool set_low_byte() {
    T& value = this->own();
    if ((value & 0xff) != 0) {
      return false;
    }
    value |= 1;
    return true;
  }
  void clear_low_byte() { this->put_low_byte(0); }

  operator T() const { return load(); }
  T operator=(T value) {
    store(value);
    return value;
  }

  /// One compare-and-swap of two words that lie side by side on one line.
  static bool draw_if_served(atomic& grant, atomic& request, T next) {
    if (grant.own() != next || request.known() != next) {
      return false;
    }
    request.known() = next + 1;
    return true;
  }

 private:
  template <class Operation>
  T change(Operation next) {
    T& value = this->own();
    const T before = value;
    value = next(before);
    return before;
  }
};

/// A variable that only the lock's holder accesses: plain loads and stores.
template <class T>
class plain : cell<T> {
 public:
  constexpr plain() = default;
  constexpr explicit plain(T value) : cell<T>(value) {}

  operator T() const { return this->get(); }
  plain& operator=(T value) {
    this->put(value);
    return *this;
  }
  plain& operator=(const plain& other) { return *this = static_cast<T>(other); }
  T operator->() const { return *this; }
};

}  // namespace lockwright::simulated_env
