// Lock state that does not fit in the mutex: blocks of memory, each with a record of its
// owner. A block is reclaimed when its lock is destroyed, and also when a sweep finds that
// the lock is gone: most programs never destroy a std::mutex.
#pragma once

#include <linux/futex.h>
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "lockwright/env/native/barrier.hpp"
#include "lockwright/env/native/fatal.hpp"
#include "lockwright/env/native/pool.hpp"
#include "lockwright/env/native/syscall.hpp"

namespace lockwright::native_env {

/// The owner of a block: the address of the lock's pointer to the block, and a state.
///
///   state      | meaning                                     | next
///   unowned    | in use by no lock                           | installing
///   installing | the lock may point to it already            | installed, unowned
///   installed  | the lock has pointed to it                  | suspected, unowned
///   suspected  | a sweep checks whether the lock still does  | installed, orphaned, unowned
///   orphaned   | the lock no longer does                     | unowned
///
/// Invariant INSTALLED-POINTS: from the moment a block is installed until its lock is
/// destroyed, the pointer in the lock holds its address. So if a sweep reads anything else
/// there, the lock is gone: its memory was used for something else.
/// Invariant ONE-SWEEP: only a sweep sets `suspected`, and there is one at a time. So a block
/// that is still suspected with the same owner after the pointer was read has not been given
/// back and installed again in between.
class block_owner {
 public:
  enum state : std::uint64_t { unowned, installing, installed, suspected, orphaned };

  /// Relaxed: the lock's pointer to the block, loaded by acquire, was stored after this.
  [[nodiscard]] bool is(const void* owner) const {
    return is_owned_by(word_.load(std::memory_order_relaxed), owner);
  }

  void set(const void* owner, state now) {
    // Release pairs with the acquire of a sweep, which then reads the pointer.
    word_.store(number(owner) | now, std::memory_order_release);
  }

  /// False if that is not, or no longer, its owner.
  bool release(const void* owner) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    while (is_owned_by(seen, owner)) {
      if (word_.compare_exchange_weak(seen, unowned, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  // For a sweep.

  /// Marks the block suspected and returns its owner; null if there is no pointer to check.
  const std::uint32_t* suspect() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    // A block that is suspected already was left by a sweep that a fork has cut off.
    while ((seen & state_mask) == installed || (seen & state_mask) == suspected) {
      if (word_.compare_exchange_weak(seen, (seen & ~state_mask) | suspected,
                                      std::memory_order_acquire, std::memory_order_relaxed)) {
        return reinterpret_cast<const std::uint32_t*>(seen & ~state_mask);
      }
    }
    return nullptr;
  }

  /// True if it was still suspected.
  bool decide(const void* owner, state now) {
    std::uint64_t seen = number(owner) | suspected;
    return word_.compare_exchange_strong(seen, number(owner) | now, std::memory_order_relaxed);
  }

  [[nodiscard]] bool is_unowned() const { return word_.load(std::memory_order_relaxed) == unowned; }

  bool release_orphan() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    return (seen & state_mask) == orphaned &&
           word_.compare_exchange_strong(seen, unowned, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t state_mask = 7;

  static bool is_owned_by(std::uint64_t seen, const void* owner) {
    return (seen ^ number(owner)) < orphaned;
  }

  static std::uint64_t number(const void* owner) { return reinterpret_cast<std::uint64_t>(owner); }

  std::atomic<std::uint64_t> word_;
};

/// True if the memory holds something else, or cannot be read. Uses a futex call that compares
/// and neither sleeps nor wakes any thread; a sandboxed program with threads may make it.
inline bool is_known_to_differ(const std::uint32_t* address, std::uint32_t expected) {
  const long result = system_call(SYS_futex, argument(address), FUTEX_CMP_REQUEUE_PRIVATE, 0, 0,
                                  argument(address), static_cast<long>(expected));
  return result == -EAGAIN || result == -EFAULT;
}

/// Called by a sweep that has found memory overwritten: whatever any thread stored before it wrote
/// there takes effect before this returns. x86-64 preserves the order of stores and of loads, and
/// needs no system call, for which a sandbox might end the process.
inline void order_stores_before_overwriting() {
#if defined(__x86_64__)
  std::atomic_signal_fence(std::memory_order_seq_cst);
#else
  heavy_barrier();
#endif
}

/// Bytes of all regions of all classes. They stay mapped, so the sum never falls.
inline constinit std::atomic<std::uint64_t> region_bytes{0};
/// At this sum the library warns, once: a small lock takes less for 100,000 mutexes.
inline constexpr std::uint64_t many_region_bytes = std::uint64_t{64} << 20;

inline void count_region(std::uint64_t bytes) {
  const std::uint64_t before = region_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (before < many_region_bytes && before + bytes >= many_region_bytes) [[unlikely]] {
    complain(
        "mutexes take 64 MiB of memory outside themselves with this lock; 'lockwright info' with "
        "its name says how much each takes, 'lockwright list' which locks take none");
  }
}

/// Blocks of one size, cut from regions of mapped memory, which stay mapped.
///
/// A region begins with the owner records, one for each 64 bytes of it; those at the beginning
/// of a block are used. So the owner of a block can be found from its address.
///
/// Invariant DOUBLED: a sweep begins only when the blocks in use reach a limit: twice as many as
/// the last sweep has left, or one region. So a sweep makes at most two checks for each block
/// that was reserved since the last one. While one thread sweeps, others wait for its result, but
/// only for a while: it may be preempted.
class block_class {
 public:
  /// A zeroed block; null if there is no memory. `size` is the same at each call.
  void* reserve(std::size_t size) {
    for (std::uint32_t attempts = 0;; ++attempts) {
      if (void* used = take(size)) {
        return used;
      }
      if (cut_.load(std::memory_order_relaxed) < limit(size) || attempts == max_attempts) {
        void* fresh = cut(size);
        return fresh != nullptr || !sweep(size) ? fresh : take(size);
      }
      if (!sweep(size)) {
        yield();
      }
    }
  }

  void unreserve(void* block, std::size_t size) {
    if (size >= region_size) {
      // Frees its pages until it is used again.
      unless_filtered([block, size] {
        system_call(SYS_madvise, argument(block), static_cast<long>(size), MADV_DONTNEED);
      });
    }
    auto* freed = static_cast<piece*>(block);
    free_.put(freed, freed);
  }

  static block_owner& owner_of(const void* block) {
    const auto at = reinterpret_cast<std::uintptr_t>(block);
    auto* owners = reinterpret_cast<block_owner*>(at & ~(region_size - 1));
    return owners[at % region_size / granule];
  }

  /// The number of blocks. All were in use at the same time, or were not known to be free.
  [[nodiscard]] std::uint64_t blocks() const { return cut_.load(std::memory_order_relaxed); }

  /// Called in the child of a fork, which has no sweeping thread.
  void forget_sweep() { sweeping_.store(false, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t max_attempts = 1'000;
  static constexpr std::uint32_t blocks_at_once = 512;
  static constexpr std::size_t granule = 64;
  static constexpr std::size_t owners_size = region_size / granule * sizeof(block_owner);

  /// The header of a region. It occupies the owner records that stand for the records themselves.
  struct region {
    region* older;
    std::atomic<std::uint32_t> used;  ///< number of blocks cut from it

    void* block(std::size_t size, std::uint32_t number) {
      return reinterpret_cast<unsigned char*>(this) + owners_size + number * size;
    }
  };
  static_assert(sizeof(region) <= owners_size / granule * sizeof(block_owner));

  /// A block that has been used before; null if there is none.
  void* take(std::size_t size) {
    piece* used = free_.take(1);
    if (used != nullptr) {
      __builtin_memset(static_cast<void*>(used), 0, size);
    }
    return used;
  }

  static constexpr std::uint32_t blocks_per_region(std::size_t size) {
    return size > region_size - owners_size
               ? 1
               : static_cast<std::uint32_t>((region_size - owners_size) / size);
  }

  static constexpr std::size_t bytes_per_region(std::size_t size) {
    return size > region_size - owners_size ? owners_size + size : region_size;
  }

  [[nodiscard]] std::uint64_t limit(std::size_t size) const {
    const std::uint64_t set = limit_.load(std::memory_order_relaxed);
    const std::uint64_t least = blocks_per_region(size);
    return set < least ? least : set;
  }

  /// The preferred address of the next region.
  static std::uintptr_t behind(const region* newest, std::size_t size) {
    const std::size_t rounded =
        (bytes_per_region(size) + region_size - 1) / region_size * region_size;
    return newest == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(newest) + rounded;
  }

  void* cut(std::size_t size) {
    region* newest = newest_.load(std::memory_order_acquire);
    for (;;) {
      if (newest != nullptr) {
        std::uint32_t used = newest->used.load(std::memory_order_relaxed);
        while (used < blocks_per_region(size)) {
          if (newest->used.compare_exchange_weak(used, used + 1, std::memory_order_relaxed)) {
            cut_.fetch_add(1, std::memory_order_relaxed);
            return newest->block(size, used);
          }
        }
      }
      const std::uintptr_t at = map_region(bytes_per_region(size), behind(newest, size));
      if (at == 0) {
        return nullptr;
      }
      auto* fresh = reinterpret_cast<region*>(at);
      fresh->older = newest;
      fresh->used.store(1, std::memory_order_relaxed);
      // Release pairs with the acquire loads of newest_, here and in sweep().
      if (newest_.compare_exchange_strong(newest, fresh, std::memory_order_acq_rel,
                                          std::memory_order_acquire)) {
        count_region(bytes_per_region(size));
        cut_.fetch_add(1, std::memory_order_relaxed);
        return fresh->block(size, 0);
      }
      unmap_pages(fresh, bytes_per_region(size));
    }
  }

  static std::uint32_t low_half_of(const void* block) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(block));
  }

  template <class Visit>
  static void each_owner(region& in, std::size_t size, std::uint32_t first, std::uint32_t end,
                         Visit visit) {
    for (std::uint32_t i = first; i < end; ++i) {
      void* block = in.block(size, i);
      visit(owner_of(block), block);
    }
  }

  /// Reclaims the blocks whose locks are gone. False if another thread is doing so.
  [[gnu::noinline]] bool sweep(std::size_t size) {
    if (sweeping_.exchange(true, std::memory_order_acquire)) {
      return false;
    }
    std::uint64_t alive = 0;
    for (region* in = newest_.load(std::memory_order_acquire); in != nullptr; in = in->older) {
      const std::uint32_t used = in->used.load(std::memory_order_relaxed);
      for (std::uint32_t first = 0; first < used; first += blocks_at_once) {
        const std::uint32_t left = used - first;
        alive += sweep(*in, size, first, first + (left < blocks_at_once ? left : blocks_at_once));
      }
    }
    limit_.store(2 * alive, std::memory_order_relaxed);
    sweeping_.store(false, std::memory_order_release);
    return true;
  }

  /// Sweeps some blocks of a region. Returns how many of them are in use.
  std::uint64_t sweep(region& in, std::size_t size, std::uint32_t first, std::uint32_t end) {
    std::uint64_t alive = 0;
    std::uint64_t gone = 0;
    each_owner(in, size, first, end, [&alive, &gone](block_owner& record, void* block) {
      const std::uint32_t* owner = record.suspect();
      if (owner == nullptr) {
        alive += record.is_unowned() ? 0 : 1;
      } else if (is_known_to_differ(owner, low_half_of(block))) {
        gone += record.decide(owner, block_owner::orphaned) ? 1 : 0;
      } else {
        record.decide(owner, block_owner::installed);
        ++alive;
      }
    });
    if (gone != 0) {
      order_stores_before_overwriting();
      each_owner(in, size, first, end, [this, size](block_owner& record, void* block) {
        if (record.release_orphan()) {
          unreserve(block, size);
        }
      });
    }
    return alive;
  }

  free_list free_;
  std::atomic<region*> newest_{nullptr};
  std::atomic<std::uint64_t> cut_{0};
  std::atomic<std::uint64_t> limit_{0};  ///< number of blocks cut before the next sweep
  std::atomic<bool> sweeping_{false};
};

/// Blocks of any size, in powers of two from 64 bytes up.
class block_pool {
 public:
  static constexpr std::size_t size_of(std::size_t bytes) {
    return std::bit_ceil(bytes < smallest ? smallest : bytes);
  }

  /// The memory that a block of `bytes` bytes takes, with its owner records.
  static constexpr std::size_t taken_by(std::size_t bytes) {
    return size_of(bytes) + size_of(bytes) / smallest * sizeof(block_owner);
  }

  /// At least `bytes` bytes, aligned to 64, zeroed, for the lock whose pointer to it lies at
  /// `owner`, a multiple of 8; null if there is no memory.
  void* reserve(std::size_t bytes, const void* owner) {
    const std::size_t size = size_of(bytes);
    void* block = class_of(size).reserve(size);
    if (block != nullptr) {
      block_class::owner_of(block).set(owner, block_owner::installing);
    }
    return block;
  }

  /// Called once the lock points to the block.
  static void install(void* block, const void* owner) {
    block_class::owner_of(block).set(owner, block_owner::installed);
  }

  /// Gives the block back, if that is its owner.
  void unreserve(void* block, std::size_t bytes, const void* owner) {
    if (block_class::owner_of(block).release(owner)) {
      class_of(size_of(bytes)).unreserve(block, size_of(bytes));
    }
  }

  [[nodiscard]] static bool is_reserved_for(const void* block, const void* owner) {
    return block_class::owner_of(block).is(owner);
  }

  /// The memory of all blocks, as by taken_by().
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    std::size_t size = smallest;
    for (const block_class& each : classes_) {
      sum += each.blocks() * taken_by(size);
      size *= 2;
    }
    return sum;
  }

  void forget_sweeps() {
    for (block_class& each : classes_) {
      each.forget_sweep();
    }
  }

 private:
  static constexpr std::size_t smallest = 64;
  static constexpr int classes = 32;

  block_class& class_of(std::size_t size) {
    return classes_[std::countr_zero(size) - std::countr_zero(smallest)];
  }

  block_class classes_[classes];
};

inline constinit block_pool blocks;

}  // namespace lockwright::native_env
