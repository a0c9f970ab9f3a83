// Memory for lock state, from mmap: never from malloc, because allocators lock
// mutexes. Nothing here takes a lock, so a fork at any moment leaves the child
// a usable pool.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lockwright/env/native/fatal.hpp"
#include "lockwright/env/native/syscall.hpp"
#include "lockwright/env/native/valgrind.hpp"

namespace lockwright::native_env {

inline void* map_pages(std::size_t bytes) {
  long got = system_call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got < 0 && got > -4096) {
    out_of_memory();
  }
  auto* pages = reinterpret_cast<void*>(got);
  valgrind::hide(pages, bytes);
  return pages;
}

inline void unmap_pages(void* start, std::size_t bytes) {
  if (bytes != 0) {
    system_call(SYS_munmap, argument(start), static_cast<long>(bytes));
  }
}

/// A free piece of memory, linked through its first word.
struct piece {
  piece* next;
};

/// Free pieces of one size, shared by all threads.
///
/// Invariant NO-POP: pieces are taken only all at once, by an exchange with
/// null, so no compare-and-swap ever depends on a piece that another thread
/// may have taken and returned in between (no ABA).
class free_list {
 public:
  /// Adds the chain from `first` to `last`.
  void put(piece* first, piece* last) {
    piece* head = head_.load(std::memory_order_relaxed);
    do {
      last->next = head;
      // Release pairs with the acquire in take_all(): the links are seen.
    } while (!head_.compare_exchange_weak(head, first, std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  /// Takes up to `count` pieces as a chain; null if there are none at the moment.
  piece* take(std::uint32_t count) {
    if (head_.load(std::memory_order_relaxed) == nullptr) {
      return nullptr;
    }
    piece* first = head_.exchange(nullptr, std::memory_order_acquire);
    if (first == nullptr) {
      return nullptr;
    }
    piece* last = first;
    for (std::uint32_t i = 1; i < count && last->next != nullptr; ++i) {
      last = last->next;
    }
    give_back_rest(last->next);
    last->next = nullptr;
    return first;
  }

 private:
  void give_back_rest(piece* rest) {
    piece* none = nullptr;
    if (rest == nullptr || head_.compare_exchange_strong(none, rest, std::memory_order_release,
                                                         std::memory_order_relaxed)) {
      return;
    }
    piece* last = rest;
    while (last->next != nullptr) {
      last = last->next;
    }
    put(rest, last);
  }

  std::atomic<piece*> head_{nullptr};
};

/// Fresh zeroed memory in steps of one fixed size, cut from mapped regions.
///
/// Invariant ALIGNED: a region starts and ends at a multiple of region_, and
/// steps divide it, so the cursor is at such a multiple only between regions.
class cutter {
 public:
  static constexpr std::size_t region = std::size_t{256} << 10;

  /// `bytes` must divide `region` and be the same at each call.
  void* cut(std::size_t bytes) {
    std::uintptr_t at = cursor_.load(std::memory_order_relaxed);
    for (;;) {
      if (at % region != 0) {
        if (cursor_.compare_exchange_weak(at, at + bytes, std::memory_order_relaxed)) {
          return reinterpret_cast<void*>(at);
        }
        continue;
      }
      std::uintptr_t fresh = map_region();
      if (cursor_.compare_exchange_strong(at, fresh + bytes, std::memory_order_relaxed)) {
        return reinterpret_cast<void*>(fresh);
      }
      unmap_pages(reinterpret_cast<void*>(fresh), region);
    }
  }

 private:
  /// The higher one of two that may fit: the kernel places mappings downwards, so
  /// the next one comes right below and needs no mapping of its own, of which a
  /// process can have 65,530 (vm.max_map_count).
  static std::uintptr_t map_region() {
    auto start = reinterpret_cast<std::uintptr_t>(map_pages(2 * region));
    std::uintptr_t aligned = (start + region) / region * region;
    unmap_pages(reinterpret_cast<void*>(start), aligned - start);
    unmap_pages(reinterpret_cast<void*>(aligned + region), start + region - aligned);
    return aligned;
  }

  std::atomic<std::uintptr_t> cursor_{0};
};

/// Blocks of any size, in powers of two from 64 bytes up.
class block_pool {
 public:
  /// What a block of `bytes` bytes takes.
  static constexpr std::size_t size_of(std::size_t bytes) {
    return std::bit_ceil(bytes < smallest ? smallest : bytes);
  }

  /// At least `bytes` bytes, aligned to 64, zeroed.
  void* reserve(std::size_t bytes) {
    std::size_t size = size_of(bytes);
    if (size >= cutter::region) {
      return map_pages(size);
    }
    size_class& from = class_of(size);
    if (piece* used = from.free.take(1)) {
      __builtin_memset(static_cast<void*>(used), 0, size);
      return used;
    }
    return from.fresh.cut(size);
  }

  void unreserve(void* block, std::size_t bytes) {
    std::size_t size = size_of(bytes);
    if (size >= cutter::region) {
      unmap_pages(block, size);
      return;
    }
    auto* one = static_cast<piece*>(block);
    class_of(size).free.put(one, one);
  }

 private:
  static constexpr std::size_t smallest = 64;

  struct size_class {
    free_list free;
    cutter fresh;
  };

  size_class& class_of(std::size_t size) {
    return classes_[std::countr_zero(size) - std::countr_zero(smallest)];
  }

  size_class classes_[std::countr_zero(cutter::region) - std::countr_zero(smallest)];
};

inline constinit block_pool blocks;

}  // namespace lockwright::native_env
