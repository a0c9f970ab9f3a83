// The simulated machine: the environment of a lock on processors, caches and a scheduler that a file
// describes. Every member has a cost in simulated time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "lockwright/env/native/settings.hpp"
#include "lockwright/env/simulated/atomic.hpp"
#include "lockwright/env/simulated/engine.hpp"
#include "lockwright/env/simulated/libc_mutex.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// The members of `native`.
struct simulated {
  template <class T>
  using atomic = simulated_env::atomic<T>;

  template <class T>
  using plain = simulated_env::plain<T>;

  static void relax() { simulated_env::relax(); }
  static void delay(std::uint32_t iterations) { simulated_env::delay(iterations); }
  static void yield() { simulated_env::yield(); }

  static void wait(atomic<std::uint32_t>& word, std::uint32_t expected) {
    simulated_env::futex_wait(&word, expected, simulated_env::no_deadline);
  }
  static void wait_until(atomic<std::uint32_t>& word, std::uint32_t expected,
                         std::uint64_t deadline) {
    simulated_env::futex_wait(&word, expected, deadline);
  }
  static void wake(atomic<std::uint32_t>& word, std::uint32_t count) {
    simulated_env::futex_wake(&word, count);
  }

  static void wait_low(atomic<std::uint64_t>& word, std::uint32_t expected) {
    simulated_env::futex_wait(&word, expected, simulated_env::no_deadline);
  }
  static void wait_low_until(atomic<std::uint64_t>& word, std::uint32_t expected,
                             std::uint64_t deadline) {
    simulated_env::futex_wait(&word, expected, deadline);
  }
  static void wake_low(atomic<std::uint64_t>& word, std::uint32_t count) {
    simulated_env::futex_wake(&word, count);
  }

  static void wait_high(atomic<std::uint64_t>& word, std::uint32_t expected) {
    simulated_env::futex_wait(high_half_of(word), expected, simulated_env::no_deadline);
  }
  static void wait_high_until(atomic<std::uint64_t>& word, std::uint32_t expected,
                              std::uint64_t deadline) {
    simulated_env::futex_wait(high_half_of(word), expected, deadline);
  }
  static void wake_high(atomic<std::uint64_t>& word, std::uint32_t count) {
    simulated_env::futex_wake(high_half_of(word), count);
  }

  static void light_barrier() {}
  static void heavy_barrier() { simulated_env::membarrier(); }

  static std::uint64_t now() { return simulated_env::now_ns(); }

  template <const tunable& What, const char* Lock>
  static std::uint64_t setting() {
    return native_env::setting<What, Lock>();
  }
  template <const tunable& What>
  static std::uint64_t value() {
    return setting<What, nullptr>();
  }

  static bool chance(std::uint64_t one_in) {
    return one_in != 0 && random(static_cast<std::uint32_t>(one_in)) == 0;
  }
  static bool advice(bool decision) { return decision; }
  static std::uint32_t random(std::uint32_t limit) { return simulated_env::random_below(limit); }

  /// Has no effect and no cost: the access waits for the line.
  static void prefetch(const void*) {}

  static std::uint32_t cpu() { return simulated_env::processor(); }
  static std::uint32_t cpus() { return simulated_env::processors(); }
  static std::uint32_t runnable() { return simulated_env::runnable(); }

  static std::uint32_t node() { return simulated_env::node(); }
  static std::uint32_t nodes() { return simulated_env::nodes(); }
  static constexpr std::uint32_t group_levels = simulated_env::group_levels;
  static std::uint32_t groups(std::uint32_t level) { return simulated_env::groups(level); }
  static std::uint32_t group() { return simulated_env::group(); }
  static std::uint32_t group_above(std::uint32_t level, std::uint32_t number) {
    return simulated_env::group_above(level, number);
  }

  static constexpr std::uint32_t max_self = 1u << 20;
  static std::uint32_t self() { return simulated_env::self(); }

  static std::uint64_t unique_number() { return simulated_env::unique_number(); }
  static bool hint(const void* about) { return simulated_env::hint(about); }
  static void set_hint(const void* about, bool what) { simulated_env::set_hint(about, what); }

  template <class T>
  static T* own() {
    static_assert(sizeof(T) <= simulated_env::node_bytes && alignof(T) <= 64);
    return static_cast<T*>(simulated_env::own_piece());
  }

  template <class Node>
  static Node* take_node() {
    static_assert(sizeof(Node) <= simulated_env::node_bytes && alignof(Node) <= 64);
    return ::new (simulated_env::take_node()) Node;
  }
  template <class Node>
  static void give_node(Node* node) {
    simulated_env::give_node(node);
  }

  template <class T>
  static T& common() {
    static const char key = 0;
    return *static_cast<T*>(simulated_env::common(&key, sizeof(T)));
  }

  static void* reserve(std::size_t bytes, const void* owner) {
    return simulated_env::reserve(bytes, owner);
  }
  static void install(void*, const void*) {}
  static bool is_reserved_for(const void* block, const void* owner) {
    return simulated_env::is_reserved_for(block, owner);
  }
  static void unreserve(void* block, std::size_t, const void* owner) {
    simulated_env::unreserve(block, owner);
  }
  static std::size_t reserved_size(std::size_t bytes) {
    return simulated_env::reserved_size(bytes);
  }

  static bool draw_if_served(atomic<std::uint32_t>& grant, atomic<std::uint32_t>& request,
                             std::uint32_t next) {
    return atomic<std::uint32_t>::draw_if_served(grant, request, next);
  }

  static bool set_low_byte(atomic<std::uint64_t>& word) { return word.set_low_byte(); }
  static void clear_low_byte(atomic<std::uint64_t>& word) { word.clear_low_byte(); }
  static std::uint32_t high_half(const atomic<std::uint64_t>& word) {
    return static_cast<std::uint32_t>(word.load() >> 32);
  }

  static std::uint8_t second_byte(const atomic<std::uint64_t>& word) {
    return static_cast<std::uint8_t>(word.load() >> 8);
  }

  using libc_mutex = simulated_env::libc_mutex<simulated>;

 private:
  static const void* high_half_of(const atomic<std::uint64_t>& word) {
    return reinterpret_cast<const unsigned char*>(&word) + 4;
  }
};

}  // namespace lockwright
