// Memory for lock state, from mmap: never from malloc, because allocators lock mutexes. Nothing
// here takes a lock, so the pool is usable in the child of a fork at any moment.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/env/native/syscall.hpp"
#include "lockwright/env/native/valgrind.hpp"

namespace lockwright::native_env {

/// Maps pages at `preferred` if that range is free, else at the kernel's choice; null on failure.
inline void* map_pages(std::size_t bytes, std::uintptr_t preferred = 0) {
  long result =
      system_call(SYS_mmap, static_cast<long>(preferred), static_cast<long>(bytes),
                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (result < 0 && result > -4096) {
    return nullptr;
  }
  auto* pages = reinterpret_cast<void*>(result);
  valgrind::hide(pages, bytes);
  return pages;
}

inline void unmap_pages(void* start, std::size_t bytes) {
  if (bytes != 0) {
    system_call(SYS_munmap, argument(start), static_cast<long>(bytes));
  }
}

/// Pieces of memory are cut from regions, which begin at a multiple of this.
inline constexpr std::size_t region_size = std::size_t{256} << 10;

/// Maps `bytes`, a multiple of region_size or of the page size beyond one, at a multiple of
/// region_size; 0 if there is no memory. If possible it is adjacent to the last region, which
/// ends at `end`: then it needs no further mapping, of which a process can have 65,530
/// (vm.max_map_count). It is requested above; below is where the kernel usually places the next
/// mapping, and of two regions that fit there the higher one is used.
inline std::uintptr_t map_region(std::size_t bytes, std::uintptr_t end) {
  auto start = reinterpret_cast<std::uintptr_t>(map_pages(bytes, end));
  if (start % region_size == 0) {
    return start;
  }
  unmap_pages(reinterpret_cast<void*>(start), bytes);
  start = reinterpret_cast<std::uintptr_t>(map_pages(bytes + region_size));
  if (start == 0) {
    return 0;
  }
  const std::uintptr_t aligned = (start + region_size) / region_size * region_size;
  unmap_pages(reinterpret_cast<void*>(start), aligned - start);
  unmap_pages(reinterpret_cast<void*>(aligned + bytes), start + region_size - aligned);
  return aligned;
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
/// Invariant TAKES-COUNT: each take changes the count, so a compare-and-swap succeeds only if
/// no piece was taken since the word was loaded, and the piece on top has had the same `next`
/// all the time. (It would also succeed after exactly n x 2^22 takes that leave the same piece
/// on top, all while its thread was stopped between the two.)
/// Invariant AS-MANY-AS-NEEDED: a take is one step, so no thread finds the list empty because of
/// another thread's unfinished take, and no more pieces are made than are in use at one time.
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
      // Release pairs with the acquire in take_one(), before the links are read.
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

  /// The piece behind `one`, or any value if another thread has taken it meanwhile and writes
  /// there, which no sanitizer should report: the count has changed, so the value is not used.
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
  static constexpr std::size_t region = region_size;

  /// `bytes` must divide `region` and be the same at each call. Null if there is no memory.
  void* cut(std::size_t bytes) {
    std::uintptr_t at = cursor_.load(std::memory_order_relaxed);
    for (;;) {
      if (at % region != 0) {
        if (cursor_.compare_exchange_weak(at, at + bytes, std::memory_order_relaxed)) {
          return reinterpret_cast<void*>(at);
        }
        continue;
      }
      std::uintptr_t fresh = map_region(region, at);
      if (fresh == 0) {
        return nullptr;
      }
      if (cursor_.compare_exchange_strong(at, fresh + bytes, std::memory_order_relaxed)) {
        regions_.fetch_add(1, std::memory_order_relaxed);
        return reinterpret_cast<void*>(fresh);
      }
      unmap_pages(reinterpret_cast<void*>(fresh), region);
    }
  }

  /// The bytes cut so far. For nodes, that is the most that were in use at the same time.
  [[nodiscard]] std::uint64_t bytes() const {
    const std::uint64_t in_last = cursor_.load(std::memory_order_relaxed) % region;
    return regions_.load(std::memory_order_relaxed) * region -
           (in_last == 0 ? 0 : region - in_last);
  }

 private:
  std::atomic<std::uintptr_t> cursor_{0};
  std::atomic<std::uint64_t> regions_{0};
};

}  // namespace lockwright::native_env
