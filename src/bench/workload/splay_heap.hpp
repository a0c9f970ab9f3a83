// An allocator like that of Solaris's C library: the free blocks are in one splay tree by
// size, which each allocation and release changes. It has no lock.
#pragma once

#include <cstddef>

#include "../../calibrate/memory.hpp"

namespace bench {

class splay_heap {
 public:
  explicit splay_heap(std::size_t bytes) : memory_{rounded_up(bytes) + 2 * sizeof(block)} {
    auto* const first = reinterpret_cast<block*>(memory_.data());
    first->size = rounded_up(bytes);
    // A block that is never free ends the memory.
    block* const last = after(first);
    last->size = 0;
    last->used = true;
    last->before = first;
    insert(first);
  }

  // nullptr where no block is large enough.
  void* take(std::size_t bytes) {
    const std::size_t wanted = rounded_up(bytes + head);
    block* const found = best_fit(wanted);
    if (found == nullptr) {
      return nullptr;
    }
    remove(found);
    if (found->size >= wanted + sizeof(block)) {
      block* const rest = reinterpret_cast<block*>(reinterpret_cast<char*>(found) + wanted);
      rest->size = found->size - wanted;
      rest->used = false;
      rest->before = found;
      found->size = wanted;
      after(rest)->before = rest;
      insert(rest);
    }
    found->used = true;
    return reinterpret_cast<char*>(found) + head;
  }

  void give_back(void* at) {
    auto* given = reinterpret_cast<block*>(static_cast<char*>(at) - head);
    given->used = false;
    if (block* const next = after(given); !next->used) {
      remove(next);
      given->size += next->size;
    }
    if (block* const previous = given->before; previous != nullptr && !previous->used) {
      remove(previous);
      previous->size += given->size;
      given = previous;
    }
    after(given)->before = given;
    insert(given);
  }

  // Whether all blocks have been freed: one free block is left, of the whole size.
  [[nodiscard]] bool is_whole() const {
    return root_ != nullptr && root_->left == nullptr && root_->right == nullptr &&
           root_->size + 2 * sizeof(block) == memory_.size();
  }

 private:
  struct block {
    std::size_t size;
    block* before;  // in memory; nullptr for the first
    bool used;
    // From here on the memory belongs to the user of the block.
    block* left;
    block* right;
  };
  static constexpr std::size_t head = 32;
  static_assert(sizeof(block) <= head + 16 && offsetof(block, left) <= head);

  static std::size_t rounded_up(std::size_t bytes) {
    const std::size_t least = bytes < sizeof(block) ? sizeof(block) : bytes;
    return (least + 15) / 16 * 16;
  }

  static block* after(block* one) {
    return reinterpret_cast<block*>(reinterpret_cast<char*>(one) + one->size);
  }

  static bool less(std::size_t size, const void* at, const block* other) {
    return size < other->size || (size == other->size && at < static_cast<const void*>(other));
  }

  // Brings the block with that key, or one next to where it would be, to the root (Sleator and
  // Tarjan, Self-Adjusting Binary Search Trees, 1985, top-down).
  void splay(std::size_t size, const void* at) {
    block ends{};
    block* smaller = &ends;
    block* larger = &ends;
    block* here = root_;
    if (here == nullptr) {
      return;
    }
    for (;;) {
      if (less(size, at, here)) {
        if (here->left != nullptr && less(size, at, here->left)) {
          block* const up = here->left;
          here->left = up->right;
          up->right = here;
          here = up;
        }
        if (here->left == nullptr) {
          break;
        }
        larger->left = here;
        larger = here;
        here = here->left;
      } else if (here != at) {
        if (here->right != nullptr && here->right != at && !less(size, at, here->right)) {
          block* const up = here->right;
          here->right = up->left;
          up->left = here;
          here = up;
        }
        if (here->right == nullptr) {
          break;
        }
        smaller->right = here;
        smaller = here;
        here = here->right;
      } else {
        break;
      }
    }
    smaller->right = here->left;
    larger->left = here->right;
    here->left = ends.right;
    here->right = ends.left;
    root_ = here;
  }

  void insert(block* one) {
    splay(one->size, one);
    one->left = one->right = nullptr;
    if (root_ != nullptr) {
      if (less(one->size, one, root_)) {
        one->right = root_;
        one->left = root_->left;
        root_->left = nullptr;
      } else {
        one->left = root_;
        one->right = root_->right;
        root_->right = nullptr;
      }
    }
    root_ = one;
  }

  void remove(const block* one) {
    splay(one->size, one);
    block* const right = root_->right;
    root_ = root_->left;
    if (root_ == nullptr) {
      root_ = right;
    } else {
      // Everything is smaller, so the largest comes up, which has nothing on its right.
      splay(one->size, one);
      root_->right = right;
    }
  }

  // The smallest block that is large enough.
  block* best_fit(std::size_t size) {
    splay(size, nullptr);
    block* found = root_;
    if (found == nullptr || found->size >= size) {
      return found;
    }
    found = found->right;
    while (found != nullptr && found->left != nullptr) {
      found = found->left;
    }
    return found;
  }

  pages_of<char> memory_;
  block* root_ = nullptr;
};

}  // namespace bench
