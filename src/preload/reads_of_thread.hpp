// What the calling thread reads, so that it can be admitted again while a writer waits for it.
#pragma once

#include <cstdint>

namespace lockwright::preload {

/// Counts of the locks that a thread holds for reading, each lock in the cell that its address
/// determines. A count that is too high does no harm, one that is too low would: a lock that another
/// thread unlocks stays counted.
class read_counts {
 public:
  /// Returns true if the thread reads `lock`, or another lock of the same cell.
  [[nodiscard]] bool may_contain(const void* lock) const { return cells_[cell_of(lock)] != 0; }

  void add(const void* lock) { ++cells_[cell_of(lock)]; }

  /// Does nothing where the thread has read no lock of the cell.
  void remove(const void* lock) {
    std::uint32_t& cell = cells_[cell_of(lock)];
    cell -= cell == 0 ? 0 : 1;
  }

  /// A count that is loaded when this is made: before the atomic instruction that enters, for which
  /// later loads wait.
  class loaded_count {
   public:
    explicit loaded_count(std::uint32_t& cell) : cell_(cell), count_(cell) {}

    /// The same as read_counts::add().
    void add() { cell_ = count_ + 1; }
    void remove() { cell_ = count_ - (count_ == 0 ? 0 : 1); }

   private:
    std::uint32_t& cell_;
    std::uint32_t count_;
  };

  loaded_count loaded(const void* lock) { return loaded_count{cells_[cell_of(lock)]}; }

 private:
  // 256 bytes of each thread, of which those are touched that its locks need.
  static constexpr unsigned bits_ = 6;

  static std::uint64_t cell_of(const void* lock) {
    // Fibonacci hashing (Knuth, TAOCP 6.4): 2^64 divided by the golden ratio.
    return reinterpret_cast<std::uintptr_t>(lock) * 0x9e37'79b9'7f4a'7c15u >> (64 - bits_);
  }

  std::uint32_t cells_[1 << bits_]{};
};

inline constinit thread_local read_counts reads_of_caller{};

}  // namespace lockwright::preload
