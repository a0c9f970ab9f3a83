// The functions of lockwright/env/simulated/engine.hpp.
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

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

/// What a thread keeps of free nodes, and gives to others at once, as env/native/thread.hpp does.
constexpr std::size_t kept_nodes = 32;
constexpr std::size_t nodes_per_batch = kept_nodes / 2;
std::vector<void*> shared_nodes;

struct block {
  const void* owner;
  std::size_t bytes;
};
std::unordered_map<const void*, block> blocks;
std::unordered_map<std::size_t, std::vector<void*>> free_blocks;

/// Reading /proc/loadavg.
constexpr simulate::picoseconds load_average = 2'000'000;

}  // namespace

bool is_inside() { return simulate::is_inside(); }

std::uint64_t load(const void* at, std::uint32_t bytes) { return running().load(at, bytes); }
void store(void* at, std::uint64_t bits, std::uint32_t bytes) {
  running().store(at, bits, bytes);
}
void begin_change(void* at) { running().begin_change(at); }
void forget_stores(const void* at) {
  if (is_inside()) {
    running().forget_stores(at);
  }
}

void relax() { running().relax(); }
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

std::uint32_t self() { return caller().number + 1; }
std::uint32_t random_below(std::uint32_t limit) {
  return static_cast<std::uint32_t>(caller().random.below(limit));
}

namespace {
std::uint64_t hint_of(const void* about) {
  return std::uint64_t{1} << (reinterpret_cast<std::uintptr_t>(about) * 0x9e37'79b9'7f4a'7c15u >>
                              58);
}
}  // namespace

bool hint(const void* about) { return (caller().hints & hint_of(about)) != 0; }
void set_hint(const void* about, bool what) {
  simulate::thread& me = caller();
  me.hints = what ? me.hints | hint_of(about) : me.hints & ~hint_of(about);
}

void* own_piece() {
  simulate::thread& me = caller();
  if (me.own_piece == nullptr) {
    me.own_piece = running().memory.cut(node_bytes, node_bytes);
  }
  return me.own_piece;
}

void* take_node() {
  std::vector<void*>& mine = caller().nodes;
  if (mine.empty() && !shared_nodes.empty()) {
    const std::size_t count = std::min(nodes_per_batch, shared_nodes.size());
    mine.assign(shared_nodes.end() - static_cast<std::ptrdiff_t>(count), shared_nodes.end());
    shared_nodes.resize(shared_nodes.size() - count);
  }
  if (mine.empty()) {
    return running().memory.cut(node_bytes, node_bytes);
  }
  void* node = mine.back();
  mine.pop_back();
  return node;
}

void give_node(void* node) {
  std::vector<void*>& mine = caller().nodes;
  mine.push_back(node);
  if (mine.size() > kept_nodes) {
    shared_nodes.insert(shared_nodes.end(), mine.begin(), mine.begin() + nodes_per_batch);
    mine.erase(mine.begin(), mine.begin() + nodes_per_batch);
  }
}

std::size_t reserved_size(std::size_t bytes) {
  return (bytes + node_bytes - 1) / node_bytes * node_bytes;
}

void* reserve(std::size_t bytes, const void* owner) {
  const std::size_t size = reserved_size(bytes);
  std::vector<void*>& free = free_blocks[size];
  void* made = nullptr;
  if (free.empty()) {
    made = running().memory.cut(size, node_bytes);
  } else {
    made = free.back();
    free.pop_back();
    std::memset(made, 0, size);
  }
  blocks[made] = {owner, size};
  return made;
}

bool is_reserved_for(const void* made, const void* owner) {
  const auto found = blocks.find(made);
  return found != blocks.end() && found->second.owner == owner;
}

void unreserve(void* made, const void* owner) {
  if (is_reserved_for(made, owner)) {
    free_blocks[blocks[made].bytes].push_back(made);
    blocks.erase(made);
  }
}

}  // namespace lockwright::simulated_env
