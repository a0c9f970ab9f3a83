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

/// At `wish` if nothing is there, else where the kernel likes.
inline void* map_pages(std::size_t bytes, std::uintptr_t wish = 0) {
  long got =
      system_call(SYS_mmap, static_cast<long>(wish), static_cast<long>(bytes),
                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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
struct alignas(64) piece {
  piece* next;
};

/// Free pieces of one size, shared by all threads. Their memory stays mapped.
///
///   bits 63-22 | address of the first piece, in units of 64 bytes; 0: none is free
///   bits 21-0  | how many pieces have been taken, modulo 2^22
///
/// Invariant TAKES-COUNT: taking changes the count, so a compare-and-swap succeeds
/// only if no piece was taken since the word was loaded, and the piece on top has had
/// the same `next` all the time. (It would also succeed after exactly n x 2^22 takings
/// that leave the same piece on top, all while its thread was stopped between the two.)
/// Invariant AS-MANY-AS-NEEDED: a taking is one step, so nobody finds the list empty
/// because somebody else is in the middle of one, and no more pieces are ever made than
/// are in use at the same time.
class free_list {
 public:
  /// Adds the chain from `first` to `last`.
  void put(piece* first, piece* last) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    std::uint64_t wanted = 0;
    do {
      last->next = top(seen);
      wanted = reinterpret_cast<std::uint64_t>(first) / alignof(piece) << count_bits |
               (seen & count_mask);
      // Release pairs with the acquire in take_one(): the links are seen.
    } while (!word_.compare_exchange_weak(seen, wanted, std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  /// Takes up to `count` pieces as a chain; null if there are none.
  piece* take(std::uint32_t count) {
    piece* chain = nullptr;
    for (; count != 0; --count) {
      piece* one = take_one();
      if (one == nullptr) {
        break;
      }
      one->next = chain;
      chain = one;
    }
    return chain;
  }

 private:
  static constexpr unsigned count_bits = 22;
  static constexpr std::uint64_t count_mask = (std::uint64_t{1} << count_bits) - 1;

  static piece* top(std::uint64_t word) {
    return reinterpret_cast<piece*>((word >> count_bits) * alignof(piece));
  }

  /// What is linked behind `one`, or anything if somebody else has taken it meanwhile and
  /// writes there, which is no race that a sanitizer should report: the count has changed.
  [[gnu::no_sanitize_thread]] static piece* behind(const piece* one) {
    return __atomic_load_n(&one->next, __ATOMIC_RELAXED);
  }

  piece* take_one() {
    // Acquire pairs with the release in put().
    std::uint64_t seen = word_.load(std::memory_order_acquire);
    for (;;) {
      piece* first = top(seen);
      if (first == nullptr) {
        return nullptr;
      }
      const std::uint64_t rest = reinterpret_cast<std::uint64_t>(behind(first)) / alignof(piece)
                                 << count_bits;
      if (word_.compare_exchange_weak(seen, rest | ((seen + 1) & count_mask),
                                      std::memory_order_acquire, std::memory_order_acquire)) {
        return first;
      }
    }
  }

  std::atomic<std::uint64_t> word_{0};
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
      std::uintptr_t fresh = map_region(at);
      if (cursor_.compare_exchange_strong(at, fresh + bytes, std::memory_order_relaxed)) {
        regions_.fetch_add(1, std::memory_order_relaxed);
        return reinterpret_cast<void*>(fresh);
      }
      unmap_pages(reinterpret_cast<void*>(fresh), region);
    }
  }

  /// Of all steps so far. Of nodes and blocks, that is the most that were in use at the same time.
  [[nodiscard]] std::uint64_t bytes() const {
    const std::uint64_t in_last = cursor_.load(std::memory_order_relaxed) % region;
    return regions_.load(std::memory_order_relaxed) * region -
           (in_last == 0 ? 0 : region - in_last);
  }

 private:
  /// Beside the last one, which ends at `end`, where that can be had: there it needs no mapping of its
  /// own, of which a process can have 65,530 (vm.max_map_count). Above it is what was wished for, and
  /// below it is where the kernel puts the next mapping as a rule, and the higher one of two that fit.
  static std::uintptr_t map_region(std::uintptr_t end) {
    auto start = reinterpret_cast<std::uintptr_t>(map_pages(region, end));
    if (start % region == 0) {
      return start;
    }
    unmap_pages(reinterpret_cast<void*>(start), region);
    start = reinterpret_cast<std::uintptr_t>(map_pages(2 * region));
    const std::uintptr_t aligned = (start + region) / region * region;
    unmap_pages(reinterpret_cast<void*>(start), aligned - start);
    unmap_pages(reinterpret_cast<void*>(aligned + region), start + region - aligned);
    return aligned;
  }

  std::atomic<std::uintptr_t> cursor_{0};
  std::atomic<std::uint64_t> regions_{0};
};

/// Of what is mapped in one piece, and not cut.
inline constinit std::atomic<std::uint64_t> bytes_in_one_piece{0};

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
      bytes_in_one_piece.fetch_add(size, std::memory_order_relaxed);
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
      bytes_in_one_piece.fetch_sub(size, std::memory_order_relaxed);
      unmap_pages(block, size);
      return;
    }
    auto* one = static_cast<piece*>(block);
    class_of(size).free.put(one, one);
  }

  /// Of all blocks that are cut.
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const size_class& each : classes_) {
      sum += each.fresh.bytes();
    }
    return sum;
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
