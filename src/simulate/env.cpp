// The functions of lockwright/env/simulated/engine.hpp.
#include <cstddef>

#include "lockwright/env/simulated/engine.hpp"
#include "simulation.hpp"

namespace lockwright::simulated_env {
namespace {

using simulate::running;

simulate::thread& caller() { return *running().caller(); }

const simulate::place& here() {
  const simulate::thread* t = running().caller();
  return running().on().of_processor(t == nullptr ? 0 : t->processor);
}

/// As env/native/hints.hpp.
std::uint64_t hint_of(const void* about) {
  return std::uint64_t{1} << (reinterpret_cast<std::uintptr_t>(about) * 0x9e37'79b9'7f4a'7c15u >>
                              58);
}

// The members of env/native.hpp read and write variables of the calling thread. The comments below
// name them.

void touch_own(std::uint64_t loads, std::uint64_t stores = 0) {
  if (is_inside()) {
    running().touch_own(loads, stores);
  }
}

/// Reading /proc/loadavg.
constexpr simulate::picoseconds load_average = 2'000'000;

}  // namespace

bool is_inside() { return simulate::is_inside(); }

std::uint64_t load(const void* at, std::uint32_t bytes) { return running().load(at, bytes); }
void store(void* at, std::uint64_t bits, std::uint32_t bytes) { running().store(at, bits, bytes); }
void begin_change(void* at) { running().begin_change(at); }
void forget_stores(const void* at) {
  if (is_inside()) {
    running().forget_stores(at);
  }
}

void relax() { running().relax(); }
void fence() {
  running().pass_time();
  running().drain_stores();
}
void delay(std::uint32_t turns) { running().spend(turns * running().on().all.turn); }
void yield() { running().yield(); }
std::uint64_t now_ns() { return running().now_ns(); }
void work_ps(std::uint64_t picoseconds) { running().work(picoseconds); }

void futex_wait(const void* at, std::uint32_t expected, std::uint64_t deadline_ns) {
  running().sleep(at, expected, deadline_ns);
}
void futex_wake(const void* at, std::uint32_t count) { running().wake(at, count); }
void membarrier() { running().membarrier(); }
std::uint32_t runnable() {
  running().spend(load_average);
  return running().processors.runnable();
}

std::uint32_t processor() {
  const simulate::thread* t = running().caller();
  return t == nullptr ? 0 : t->processor;
}
std::uint32_t processors() { return running().on().processors(); }
std::uint32_t node() { return here().node; }
std::uint32_t nodes() { return running().on().nodes(); }
std::uint32_t groups(std::uint32_t level) {
  const simulate::machine& on = running().on();
  return level == 0 ? on.caches() : level == 1 ? on.nodes() : on.packages();
}
std::uint32_t group() { return here().cache; }
std::uint32_t group_above(std::uint32_t level, std::uint32_t number) {
  const simulate::figures& f = running().on().all;
  return static_cast<std::uint32_t>(number /
                                    (level == 0 ? f.caches_per_node : f.nodes_per_package));
}

// The serial number.
std::uint32_t self() {
  touch_own(1);
  return caller().number + 1;
}
// The state of the generator.
std::uint32_t random_below(std::uint32_t limit) {
  touch_own(1, 1);
  return static_cast<std::uint32_t>(caller().random.below(limit));
}
std::uint64_t unique_number() {
  simulate::thread& me = caller();
  constexpr unsigned bits_of_threads = 32;
  return me.numbers_drawn++ << bits_of_threads | (me.number + 1);
}

// The hints.
bool hint(const void* about) {
  touch_own(1);
  return (caller().hints & hint_of(about)) != 0;
}
void set_hint(const void* about, bool what) {
  touch_own(1, 1);
  simulate::thread& me = caller();
  me.hints = what ? me.hints | hint_of(about) : me.hints & ~hint_of(about);
}

void* own_piece() { return running().owned.own_of(caller()); }
// The head of the list of free nodes, and the next one in the node.
void* take_node() {
  touch_own(2, 1);
  return running().owned.take_node(caller());
}
void give_node(void* node) {
  touch_own(1, 2);
  running().owned.give_node(caller(), node);
}

void* reserve(std::size_t bytes, const void* owner) {
  return running().owned.reserve(bytes, owner);
}
bool is_reserved_for(const void* block, const void* owner) {
  return running().owned.is_reserved_for(block, owner);
}
void unreserve(void* block, const void* owner) { running().owned.unreserve(block, owner); }
std::size_t reserved_size(std::size_t bytes) { return simulate::pieces::reserved_size(bytes); }
void* common(const void* key, std::size_t bytes) { return running().owned.common(key, bytes); }

}  // namespace lockwright::simulated_env
