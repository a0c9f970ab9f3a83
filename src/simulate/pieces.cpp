#include "pieces.hpp"

#include <algorithm>
#include <cstring>

namespace lockwright::simulate {

void* pieces::take_node(thread& t) {
  if (t.nodes.empty() && !shared_nodes_.empty()) {
    const std::size_t count = std::min(nodes_per_batch, shared_nodes_.size());
    t.nodes.assign(shared_nodes_.end() - static_cast<std::ptrdiff_t>(count), shared_nodes_.end());
    shared_nodes_.resize(shared_nodes_.size() - count);
  }
  if (t.nodes.empty()) {
    return memory_.cut(node_bytes, node_bytes);
  }
  void* node = t.nodes.back();
  t.nodes.pop_back();
  return node;
}

void pieces::give_node(thread& t, void* node) {
  t.nodes.push_back(node);
  if (t.nodes.size() > kept_nodes) {
    shared_nodes_.insert(shared_nodes_.end(), t.nodes.begin(), t.nodes.begin() + nodes_per_batch);
    t.nodes.erase(t.nodes.begin(), t.nodes.begin() + nodes_per_batch);
  }
}

void* pieces::own_of(thread& t) {
  if (t.own_piece == nullptr) {
    t.own_piece = memory_.cut(node_bytes, node_bytes);
  }
  return t.own_piece;
}

void* pieces::reserve(std::size_t bytes, const void* owner) {
  const std::size_t size = reserved_size(bytes);
  std::vector<void*>& free = free_blocks_[size];
  void* made = nullptr;
  if (free.empty()) {
    made = memory_.cut(size, node_bytes);
  } else {
    made = free.back();
    free.pop_back();
    std::memset(made, 0, size);
  }
  blocks_[made] = {owner, size};
  return made;
}

bool pieces::is_reserved_for(const void* made, const void* owner) const {
  const auto found = blocks_.find(made);
  return found != blocks_.end() && found->second.owner == owner;
}

void pieces::unreserve(void* made, const void* owner) {
  if (is_reserved_for(made, owner)) {
    free_blocks_[blocks_[made].bytes].push_back(made);
    blocks_.erase(made);
  }
}

void* pieces::common(const void* key, std::size_t bytes) {
  void*& made = common_[key];
  if (made == nullptr) {
    made = memory_.cut(reserved_size(bytes), node_bytes);
  }
  return made;
}

}  // namespace lockwright::simulate
