// Lock state that does not fit in place: blocks of memory, of which each knows
// whose it is. A block is taken back when its lock is destroyed, and also when it
// is found that the lock is not there any more: most programs never destroy a
// std::mutex.
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

/// Whose a block is: the address of the pointer to it in the lock, and a state.
///
///   state      | meaning                                   | next
///   unowned    | in use by no thread                       | installing
///   installing | the lock may point to it already          | installed, unowned
///   installed  | the lock has pointed to it                | suspected, unowned
///   suspected  | a sweep looks whether the lock still does | installed, orphaned, unowned
///   orphaned   | it does not                               | unowned
///
/// Invariant INSTALLED-POINTS: from the moment a block is installed until its lock is
/// destroyed, the pointer in the lock holds its address. So a sweep that reads anything
/// else there has found a lock that is gone: its memory was used for something else.
/// Invariant ONE-SWEEP: only a sweep suspects, and there is one at a time. So if a block is
/// still suspected of the same owner after the look at the pointer, it has not been given
/// back and installed again in between.
class block_owner {
 public:
  enum state : std::uint64_t { unowned, installing, installed, suspected, orphaned };

  /// Relaxed: the lock's pointer to the block, loaded by acquire, was stored after this.
  [[nodiscard]] bool is(const void* owner) const {
    return is_owned_by(word_.load(std::memory_order_relaxed), owner);
  }

  void set(const void* owner, state now) {
    // Release pairs with the acquire of a sweep: the pointer is seen.
    word_.store(number(owner) | now, std::memory_order_release);
  }

  /// False if it is not that owner's (any more).
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

  /// The owner, suspected from here on; null if there is nothing to look at.
  const std::uint32_t* suspect() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    // One that is suspected already was left by a sweep that a fork has cut off.
    while ((seen & state_mask) == installed || (seen & state_mask) == suspected) {
      if (word_.compare_exchange_weak(seen, (seen & ~state_mask) | suspected,
                                      std::memory_order_acquire, std::memory_order_relaxed)) {
        return reinterpret_cast<const std::uint32_t*>(seen & ~state_mask);
      }
    }
    return nullptr;
  }

  /// True if it was suspected still.
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

/// True if the memory holds something else, or cannot be read. By a system call that compares,
/// and here neither sleeps nor wakes any thread; a program with threads is allowed to make it.
inline bool is_known_to_differ(const std::uint32_t* address, std::uint32_t expected) {
  const long result = system_call(SYS_futex, argument(address), FUTEX_CMP_REQUEUE_PRIVATE, 0, 0,
                                  argument(address), static_cast<long>(expected));
  return result == -EAGAIN || result == -EFAULT;
}

/// For a sweep that has seen memory written over: what any thread stored before it wrote there
/// takes effect before this returns. x86-64 keeps the order of stores and of loads, and so needs no
/// system call, which a sandbox might answer by ending the process.
inline void order_stores_before_overwriting() {
#if defined(__x86_64__)
  std::atomic_signal_fence(std::memory_order_seq_cst);
#else
  heavy_barrier();
#endif
}

/// Bytes of all regions of all classes. They stay mapped, so the sum never falls.
inline constinit std::atomic<std::uint64_t> region_bytes{0};
/// At this sum the library warns, once: a lock that is small takes no more for 100,000 mutexes.
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
/// A region begins with the owners, one for each 64 bytes of it, of which those are used that
/// stand for the beginning of a block. So whose a block is can be found from its address.
///
/// Invariant DOUBLED: a sweep comes only when as many blocks are in use as there may be without
/// one, which is twice as many as the last one has left, or a region full. So blocks are at most
/// that many, and a sweep costs each block that was reserved since the last one no more than two
/// looks. While one thread sweeps, others wait for what it finds, a while: it may not be running.
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
        system_call(SYS_sched_yield);
      }
    }
  }

  void unreserve(void* block, std::size_t size) {
    if (size >= region_size) {
      // Only to take less memory until it is used again.
      system_call(SYS_madvise, argument(block), static_cast<long>(size), MADV_DONTNEED);
    }
    auto* freed = static_cast<piece*>(block);
    free_.put(freed, freed);
  }

  static block_owner& owner_of(const void* block) {
    const auto at = reinterpret_cast<std::uintptr_t>(block);
    auto* owners = reinterpret_cast<block_owner*>(at & ~(region_size - 1));
    return owners[at % region_size / granule];
  }

  /// How many there are. All of them were in use at the same time, or were taken for such.
  [[nodiscard]] std::uint64_t blocks() const { return cut_.load(std::memory_order_relaxed); }

  /// For the child of a fork: the thread that was sweeping is not there.
  void forget_sweep() { sweeping_.store(false, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t max_attempts = 1'000;
  static constexpr std::uint32_t blocks_at_once = 512;
  static constexpr std::size_t granule = 64;
  static constexpr std::size_t owners_size = region_size / granule * sizeof(block_owner);

  /// In the place of the owners of the first 64 bytes of a region, which are owners themselves.
  struct region {
    region* older;
    std::atomic<std::uint32_t> used;  ///< blocks of it that have been cut

    void* block(std::size_t size, std::uint32_t number) {
      return reinterpret_cast<unsigned char*>(this) + owners_size + number * size;
    }
  };
  static_assert(sizeof(region) <= owners_size / granule * sizeof(block_owner));

  /// One that has been used before.
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

  /// Where the next region would be best.
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

  /// Takes back the blocks whose locks are gone. False if another thread is at it.
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

  /// How many of them are in use.
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
  std::atomic<std::uint64_t> limit_{0};  ///< so many may be cut before the next sweep
  std::atomic<bool> sweeping_{false};
};

/// Blocks of any size, in powers of two from 64 bytes up.
class block_pool {
 public:
  static constexpr std::size_t size_of(std::size_t bytes) {
    return std::bit_ceil(bytes < smallest ? smallest : bytes);
  }

  /// What a block of `bytes` bytes takes, its part of the owners included.
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

  /// The lock points to the block.
  static void install(void* block, const void* owner) {
    block_class::owner_of(block).set(owner, block_owner::installed);
  }

  /// Gives the block back, if it is that owner's.
  void unreserve(void* block, std::size_t bytes, const void* owner) {
    if (block_class::owner_of(block).release(owner)) {
      class_of(size_of(bytes)).unreserve(block, size_of(bytes));
    }
  }

  [[nodiscard]] static bool is_reserved_for(const void* block, const void* owner) {
    return block_class::owner_of(block).is(owner);
  }

  /// Of all blocks, as taken_by() says.
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
