// The model checker: the environment that tries every interleaving of a small program over a
// lock, on the C++ memory model. It needs Relacy, exceptions and the C++ library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "lockwright/env/model/atomic.hpp"
#include "lockwright/env/model/execution.hpp"
#include "lockwright/env/model/futex.hpp"
#include "lockwright/env/model/location.hpp"
#include "lockwright/env/model/plain.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// The members of `native`, each a step of the model. Every member takes the source location of
/// the call, for the traces and for planted faults.
struct model {
  using location = model_env::location;

  template <class T>
  using atomic = model_env::atomic<T>;

  template <class T>
  using plain = model_env::plain<T>;

  /// Lets the other threads run before the caller polls again, so that a polling loop gives a
  /// finite number of executions.
  ///
  /// A waiter that parks polls in batches and then reads the clock; if it let the others run at
  /// each poll, it would not get so far in a short program. So at its first poll it may also
  /// make the rest of the batch at once. A batch begun later would add no execution: the step
  /// after the batch may come at any later time anyhow.
  static void relax(const location& at = location::current()) {
    model_env::thread_state& me = model_env::this_thread();
    if (me.batch_polls_left != 0) {
      --me.batch_polls_left;
      return;
    }
    if (model_env::settings_now.impatient && me.polls_a_word && !me.patient) {
      me.patient = true;
      if (model_env::choose(2) == 1) {
        me.batch_polls_left = polls_of_a_batch_;
        return;
      }
    }
    yield(at);
  }

  static void delay(std::uint32_t, const location& at = location::current()) { yield(at); }

  static void yield(const location& at = location::current()) {
    model_env::this_thread().batch_polls_left = 0;
    const model_env::pause others;
    rl::yield(1, model_env::relacy_info(at));
  }

  static void wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                   const location& at = location::current()) {
    model_env::futex_wait(word, expected, at);
  }

  /// The deadline may pass at once, and passes in the end: a sleeper that no thread wakes
  /// proceeds when no other thread can. The latest possible deadline never passes.
  static void wait_until(atomic<std::uint32_t>& word, std::uint32_t expected,
                         std::uint64_t deadline, const location& at = location::current()) {
    until(word, expected, deadline, at);
  }

  static void wake(atomic<std::uint32_t>& word, std::uint32_t count,
                   const location& at = location::current()) {
    model_env::futex_wake(word, count, at);
  }

  static void wait_low(atomic<std::uint64_t>& word, std::uint32_t expected,
                       const location& at = location::current()) {
    model_env::futex_wait(word, expected, at);
  }

  static void wait_low_until(atomic<std::uint64_t>& word, std::uint32_t expected,
                             std::uint64_t deadline, const location& at = location::current()) {
    until(word, expected, deadline, at);
  }

  static void wake_low(atomic<std::uint64_t>& word, std::uint32_t count,
                       const location& at = location::current()) {
    model_env::futex_wake(word, count, at);
  }

  static void wait_high(atomic<std::uint64_t>& word, std::uint32_t expected,
                        const location& at = location::current()) {
    model_env::futex_wait<32>(word, expected, at);
  }

  static void wait_high_until(atomic<std::uint64_t>& word, std::uint32_t expected,
                              std::uint64_t deadline, const location& at = location::current()) {
    until<32>(word, expected, deadline, at);
  }

  static void wake_high(atomic<std::uint64_t>& word, std::uint32_t count,
                        const location& at = location::current()) {
    model_env::futex_wake<32>(word, count, at);
  }

  /// Both are sequentially consistent fences, as which the pair is specified. So they also order
  /// either thread's steps with those of third threads, which the machine's light barrier does
  /// not; no lock may rely on that.
  static void light_barrier(const location& at = location::current()) { model_env::fence(at); }
  static void heavy_barrier(const location& at = location::current()) { model_env::fence(at); }

  /// Each reading is later than the last by more than the spin bound, so a waiter's time is up
  /// whenever it reads the clock. The search varies when it does.
  static std::uint64_t now() {
    model_env::thread_state& me = model_env::this_thread();
    me.batch_polls_left = 0;
    return me.clock += 1'000;
  }

  template <const tunable& What, const char* Lock>
  static std::uint64_t setting() {
    return What.model_value;
  }

  template <const tunable& What>
  static std::uint64_t value() {
    return What.model_value;
  }

  /// Both outcomes are tried, whatever their probability.
  static bool chance(std::uint64_t one_in) {
    return one_in == 1 || (one_in != 0 && model_env::choose(2) == 1);
  }

  static bool advice(bool) { return model_env::choose(2) == 1; }

  /// Every number is tried, so the limit has to be small.
  static std::uint32_t random(std::uint32_t limit) { return model_env::choose(limit); }

  static void prefetch(const void*) {}

  static std::uint32_t cpu() { return rl::thread_index(); }

  static std::uint32_t cpus() { return 2; }

  /// Few threads or many, at each call.
  static std::uint32_t runnable() { return model_env::choose(2) * 1'000; }

  static std::uint32_t node() {
    const std::uint32_t count = nodes();
    if (count == 1) {
      return 0;
    }
    return model_env::settings_now.migrates ? model_env::choose(count) : cpu() % count;
  }

  static std::uint32_t nodes() { return model_env::settings_now.nodes; }

  static constexpr std::uint32_t group_levels = 3;

  /// One package.
  static std::uint32_t groups(std::uint32_t level) {
    return level == 0 ? nodes() * model_env::settings_now.caches : level == 1 ? nodes() : 1;
  }

  static std::uint32_t group() {
    const std::uint32_t count = groups(0);
    if (count == 1) {
      return 0;
    }
    if (model_env::settings_now.migrates) {
      return model_env::choose(count);
    }
    const std::uint32_t caches = model_env::settings_now.caches;
    return cpu() % nodes() * caches + cpu() / nodes() % caches;
  }

  static std::uint32_t group_above(std::uint32_t level, std::uint32_t number) {
    return level == 0 ? number / model_env::settings_now.caches : 0;
  }

  static constexpr std::uint32_t max_self = 1'000;
  static std::uint32_t self() {
    return rl::thread_index() + 1 + model_env::max_threads * model_env::this_thread().life;
  }

  /// Each thread has its own sequence, so that the numbers do not depend on the order of steps.
  static std::uint64_t unique_number() {
    return rl::thread_index() + 1 +
           std::uint64_t{model_env::max_threads} * model_env::this_thread().numbers_drawn++;
  }

  /// A thread has one bit for all locks, which begins with either value.
  static bool hint(const void*) {
    model_env::thread_state& me = model_env::this_thread();
    if (!me.remembers) {
      set_hint(nullptr, model_env::choose(2) == 1);
    }
    return me.remembered;
  }
  static void set_hint(const void*, bool what) {
    model_env::thread_state& me = model_env::this_thread();
    me.remembers = true;
    me.remembered = what;
  }

  /// One for each thread; a later thread may get that of an ended one.
  template <class T>
  static T* own() {
    model_env::thread_state& me = model_env::this_thread();
    if (me.own == nullptr && me.life != 0) {
      me.own = model_env::execution_now.piece_of_ended_thread();
    }
    if (me.own == nullptr) {
      me.own = ::new (
          model_env::execution_now.cut_piece([](void* mine) { static_cast<T*>(mine)->~T(); })) T;
    }
    return static_cast<T*>(me.own);
  }

  /// A node in memory that was a node before, if there is such memory. Its atomics hold junk,
  /// whatever their initialisers.
  template <class Node>
  static Node* take_node() {
    static_assert(sizeof(Node) <= model_env::execution::node_size && alignof(Node) <= 64);
    void* room = model_env::execution_now.take_node();
    model_env::thread_state& me = model_env::this_thread();
    me.makes_node = model_env::execution_now.node_number(room);
    Node* node = ::new (room) Node;
    me.makes_node = 0;
    return node;
  }

  /// Destroys the node, so that a later access to it is detected.
  template <class Node>
  static void give_node(Node* node) {
    node->~Node();
    model_env::execution_now.give_node(node);
  }

  /// One for each execution, of the lock's `common_bytes`.
  template <class T>
  static T& common() {
    return *static_cast<T*>(model_env::execution_now.common());
  }

  /// Null at any call, if settings_now.short_of_memory.
  static void* reserve(std::size_t bytes, const void* owner) {
    if (model_env::settings_now.short_of_memory && model_env::choose(2) == 1) {
      return nullptr;
    }
    return model_env::execution_now.reserve(bytes, owner);
  }

  /// No step: only a sweep, which the model does not have, observes it.
  static void install(void*, const void*) {}

  static bool is_reserved_for(const void* block, const void* owner) {
    return model_env::execution_now.is_reserved_for(block, owner);
  }

  static void unreserve(void* block, std::size_t, const void* owner) {
    if (is_reserved_for(block, owner)) {
      model_env::execution_now.unreserve(block, RL_INFO);
    }
  }

  static std::size_t reserved_size(std::size_t bytes) {
    return model_env::execution::reserved_size(bytes);
  }

  /// One step over both words, as is the machine's compare-and-swap of the pair. It succeeds on the
  /// latest values of both, as a read-modify-write must; a failure orders nothing. The unchanged
  /// `grant` is written too, because that continues the release sequence of unlock's store.
  static bool draw_if_served(atomic<std::uint32_t>& grant, atomic<std::uint32_t>& request,
                             std::uint32_t next, const location& at = location::current()) {
    const auto order =
        model_env::order_at(model_env::operation::rmw, at, std::memory_order_acquire);
    const bool split = model_env::splits(at);
    {
      const model_env::step now({model_env::next_step::anything, nullptr});
      if (!grant.is(next, at) || !request.is(next, at)) {
        return false;
      }
      if (!split) {
        grant.fetch_add(0, order, at);
        request.fetch_add(1, order, at);
        return true;
      }
    }
    request.store(next + 1, std::memory_order_relaxed, at);
    return true;
  }

  static bool set_low_byte(atomic<std::uint64_t>& word, const location& at = location::current()) {
    return word.set_low_byte(at);
  }

  static void clear_low_byte(atomic<std::uint64_t>& word,
                             const location& at = location::current()) {
    word.clear_low_byte(at);
  }

  static std::uint32_t high_half(const atomic<std::uint64_t>& word,
                                 const location& at = location::current()) {
    return static_cast<std::uint32_t>(word.load(std::memory_order_relaxed, at) >> 32);
  }

  static std::uint8_t second_byte(const atomic<std::uint64_t>& word,
                                  const location& at = location::current()) {
    return static_cast<std::uint8_t>(word.load(std::memory_order_relaxed, at) >> 8);
  }

 private:
  template <unsigned Shift = 0, class T>
  static void until(atomic<T>& word, std::uint32_t expected, std::uint64_t deadline,
                    const location& at) {
    if (deadline == ~std::uint64_t{0}) {
      model_env::futex_wait<Shift>(word, expected, at);
    } else if (model_env::futex_wait_a_while<Shift>(word, expected, at)) {
      model_env::thread_state& me = model_env::this_thread();
      me.clock = me.clock < deadline ? deadline : me.clock;
    }
  }

  // The rest of a batch of 16 after its first poll.
  static constexpr std::uint32_t polls_of_a_batch_ = 15;
};

}  // namespace lockwright
