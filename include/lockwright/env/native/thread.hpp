// The serial number of the calling thread, and its queue nodes.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "lockwright/env/native/fatal.hpp"
#include "lockwright/env/native/pool.hpp"
#include "lockwright/env/native/sandbox.hpp"

namespace lockwright::native_env {

inline constexpr std::size_t node_size = 64;
// A thread keeps at most this many free nodes: 2 KB, and more than any program nests. When
// that is exceeded, half of them go to the shared list.
inline constexpr std::uint32_t kept_nodes = 32;
inline constexpr std::uint32_t nodes_per_batch = kept_nodes / 2;

/// The library's record of the calling thread.
///
///   room | free nodes     | state
///   0    | none           | not registered yet, or ending: nodes come from and go to the
///        |                | shared list one at a time
///   n    | kept_nodes - n | registered; it may keep n more
///
/// Both states have room 0, so that each fast path needs one comparison.
struct thread_record {
  piece* free;           ///< free nodes of this thread
  piece* own;            ///< its one piece for its lifetime, null until first used
  std::uint32_t room;    ///< number of further nodes that it may keep
  std::uint32_t serial;  ///< never used twice in a process nor changed by fork; 0 until first used
  bool seen;             ///< the exit hook is set, or being set
};

inline constinit thread_local thread_record self_record{};
inline constinit free_list shared_nodes;
inline constinit free_list left_pieces;  ///< the own pieces of threads that have ended
inline constinit cutter fresh_nodes;

/// Nodes for which no memory is mapped: the first ones, since a program may have to forbid itself
/// to map memory, and as many in reserve. Pages that are not written to take no memory.
class own_nodes {
 public:
  /// Null if none is left, or only the reserve.
  piece* take(bool reserve) {
    std::uint32_t used = used_.load(std::memory_order_relaxed);
    while (used < (reserve ? nodes_ : nodes_ / 2)) {
      if (used_.compare_exchange_weak(used, used + 1, std::memory_order_relaxed)) {
        return reinterpret_cast<piece*>(room_ + used * node_size);
      }
    }
    return nullptr;
  }

  /// The size of the nodes taken so far.
  [[nodiscard]] std::uint64_t bytes() const {
    return std::uint64_t{node_size} * used_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t nodes_ = 2 * 4'096;

  std::atomic<std::uint32_t> used_{0};
  alignas(64) unsigned char room_[nodes_ * node_size]{};
};

inline constinit own_nodes nodes_without_mapping;

/// A node that no thread had before; null if there is no memory.
inline piece* cut_node() {
  piece* node = nodes_without_mapping.take(false);
  const auto cut = [&node] { node = static_cast<piece*>(fresh_nodes.cut(node_size)); };
  const bool has_tried = node != nullptr || unless_filtered(cut);
  if (node == nullptr) {
    node = nodes_without_mapping.take(true);
  }
  if (node == nullptr && !has_tried) {
    cut();  // Most sandboxes allow it.
  }
  return node;
}

inline constinit std::atomic<std::uint32_t> last_serial{0};
// The bits above are free for callers that store a serial and something else in one word.
inline constexpr std::uint32_t max_serial = ~std::uint32_t{0} - 15;

[[gnu::noinline]] inline std::uint32_t draw_serial() {
  std::uint32_t fresh = 0;
  while (fresh == 0 || fresh > max_serial) {  // 0 means "no thread", also after 2^32 threads
    fresh = last_serial.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return self_record.serial = fresh;
}

inline std::uint32_t serial() {
  std::uint32_t known = self_record.serial;
  return known != 0 ? known : draw_serial();
}

/// Puts the thread's nodes on the shared list when it ends. Locks taken after this (by other
/// destructors) find room == 0 and use the shared list.
inline void on_thread_exit(void*) {
  thread_record& self = self_record;
  piece* first = self.free;
  self.free = nullptr;
  self.room = 0;
  if (self.own != nullptr) {
    left_pieces.put(self.own, self.own);
    self.own = nullptr;
  }
  if (first != nullptr) {
    piece* last = first;
    while (last->next != nullptr) {
      last = last->next;
    }
    shared_nodes.put(first, last);
  }
}

/// The key whose destructor is on_thread_exit(), plus one; 0 until created.
inline constinit std::atomic<std::uint32_t> exit_key{0};

inline bool hook_thread_exit() {
  std::uint32_t known = exit_key.load(std::memory_order_acquire);
  if (known == 0) {
    pthread_key_t mine;
    if (pthread_key_create(&mine, on_thread_exit) != 0) {
      return false;
    }
    if (exit_key.compare_exchange_strong(known, mine + 1, std::memory_order_acq_rel)) {
      known = mine + 1;
    } else {
      pthread_key_delete(mine);
    }
  }
  return pthread_setspecific(known - 1, &self_record) == 0;
}

/// Called at a thread's first node: from now on it may keep some. Setting the hook may call
/// malloc, which may lock a mutex and so enter here again: it then finds `seen` and no room.
inline void register_thread(thread_record& self) {
  self.seen = true;
  if (hook_thread_exit()) {
    self.room = kept_nodes;
  }
}

/// Registers the calling thread, so that its next node needs no other function.
inline void register_caller() {
  if (!self_record.seen) {
    register_thread(self_record);
  }
}

/// A piece of an ended thread that T::is_at_rest(), out of the first two; null if neither is. One
/// that is not at rest stays in the list until more threads live than ever before.
template <class T>
piece* take_piece_of_ended() {
  piece* first = left_pieces.take(1);
  if (first == nullptr || reinterpret_cast<T*>(first)->is_at_rest()) {
    return first;
  }
  piece* second = left_pieces.take(1);
  left_pieces.put(first, first);
  if (second == nullptr || reinterpret_cast<T*>(second)->is_at_rest()) {
    return second;
  }
  left_pieces.put(second, second);
  return nullptr;
}

template <class T>
[[gnu::noinline]] void* take_own_piece() {
  thread_record& self = self_record;
  register_caller();
  if (self.free == nullptr && self.room == 0) {
    return nullptr;
  }
  piece* mine = take_piece_of_ended<T>();
  if (mine == nullptr) {
    mine = cut_node();
  }
  self.own = mine;
  return mine;
}

/// A piece as large as a node that the caller has until it ends, and that is never used
/// otherwise; null for a thread that is ending, and if there is no memory. Zeroed, or as its
/// previous thread left it, at rest, but for its first pointer, which links the list.
template <class T>
void* own_piece() {
  piece* known = self_record.own;
  return known != nullptr ? known : take_own_piece<T>();
}

/// Called in the child of a fork: the pieces describe threads that it does not have.
inline void abandon_own_pieces() {
  self_record.own = nullptr;
  ::new (&left_pieces) free_list;
}

/// A node that no thread had before. Where there is neither memory nor reserve, one that another
/// thread gives back within a second.
[[gnu::noinline]] inline piece* fresh_node() {
  constexpr int attempts = 1'000;
  piece* node = cut_node();
  for (int i = 0; node == nullptr && i < attempts; ++i) {
    nap(1'000'000);
    node = shared_nodes.take(1);
  }
  if (node == nullptr) {
    out_of_memory();
  }
  return node;
}

[[gnu::noinline]] inline piece* take_node_slowly() {
  thread_record& self = self_record;
  if (!self.seen) {
    register_thread(self);
    if (self.free != nullptr) {
      piece* node = self.free;
      self.free = node->next;
      ++self.room;
      return node;
    }
  }
  if (self.room == 0) {
    piece* node = shared_nodes.take(1);
    return node != nullptr ? node : fresh_node();
  }
  piece* batch = shared_nodes.take(nodes_per_batch);
  if (batch == nullptr) {
    return fresh_node();
  }
  self.free = batch->next;
  for (piece* node = self.free; node != nullptr; node = node->next) {
    --self.room;
  }
  return batch;
}

[[gnu::noinline]] inline void give_node_slowly(piece* node) {
  thread_record& self = self_record;
  if (self.free == nullptr) {
    if (!self.seen) {
      register_thread(self);
    }
    if (self.room != 0) {
      node->next = nullptr;
      self.free = node;
      --self.room;
      return;
    }
    shared_nodes.put(node, node);
    return;
  }
  // Full: it keeps half.
  piece* last = self.free;
  for (std::uint32_t i = 1; i < nodes_per_batch; ++i) {
    last = last->next;
  }
  piece* first = self.free;
  self.free = last->next;
  shared_nodes.put(first, last);
  self.room = nodes_per_batch - 1;
  node->next = self.free;
  self.free = node;
}

inline void* take_node() {
  thread_record& self = self_record;
  if (piece* node = self.free) [[likely]] {
    self.free = node->next;
    ++self.room;
    return node;
  }
  return take_node_slowly();
}

inline void give_node(void* memory) {
  auto* node = static_cast<piece*>(memory);
  thread_record& self = self_record;
  if (self.room != 0) [[likely]] {
    node->next = self.free;
    self.free = node;
    --self.room;
    return;
  }
  give_node_slowly(node);
}

}  // namespace lockwright::native_env
