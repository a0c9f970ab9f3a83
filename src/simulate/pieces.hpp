// Memory that the locks take beside their own: queue nodes, and blocks.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "arena.hpp"
#include "thread.hpp"

namespace lockwright::simulate {

class pieces {
 public:
  static constexpr std::size_t node_bytes = 64;

  explicit pieces(arena& memory) : memory_{memory} {}

  void* take_node(thread& t);
  void give_node(thread& t, void* node);
  /// The thread's own.
  void* own_of(thread& t);

  void* reserve(std::size_t bytes, const void* owner);
  [[nodiscard]] bool is_reserved_for(const void* made, const void* owner) const;
  void unreserve(void* made, const void* owner);
  static std::size_t reserved_size(std::size_t bytes) {
    return (bytes + node_bytes - 1) / node_bytes * node_bytes;
  }
  /// The one block of that key.
  void* common(const void* key, std::size_t bytes);

 private:
  /// What a thread keeps of free nodes, and gives to others at once, as env/native/thread.hpp does.
  static constexpr std::size_t kept_nodes = 32;
  static constexpr std::size_t nodes_per_batch = kept_nodes / 2;

  struct block {
    const void* owner;
    std::size_t bytes;
  };

  arena& memory_;
  std::vector<void*> shared_nodes_;
  std::unordered_map<const void*, block> blocks_;
  std::unordered_map<std::size_t, std::vector<void*>> free_blocks_;
  std::unordered_map<const void*, void*> common_;
};

}  // namespace lockwright::simulate
