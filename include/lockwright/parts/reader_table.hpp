// A table of the process in which readers of any lock register: a row for each processor, so that
// readers on different processors write different lines.
//
//   entry of the table | meaning                                  | changed by
//   bits 16-63         | address of a lock, or 0: the entry is    | the first reader that registers,
//                      | free                                     | the last one that leaves
//   bit 15    awaited  | a writer sleeps until the entry is free, | that writer; that reader
//                      | or is about to                           |
//   bits 0-14 count    | readers registered                       | readers
//
// A lock has one entry in each row, in the same column. An entry that another lock uses is not to be
// had. Registrations are interchangeable: a reader that has moved to another processor may remove
// one of that row. A lock that is destroyed or overwritten while a thread reads leaves its
// registration behind, forever.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lockwright/parts/wait.hpp"

namespace lockwright {

template <class Env>
class reader_table {
  using entry = typename Env::template atomic<std::uint64_t>;

  /// Fewer in the model, where there are few threads.
  static constexpr std::uint32_t most_rows_ = Env::max_self < 4096 ? 2 : 512;
  static constexpr std::uint32_t columns_ = Env::max_self < 4096 ? 1 : 64;

  struct alignas(64) all_entries {
    /// The readers of a process remain those of its forked child.
    static constexpr bool survives_fork = true;
    entry rows[most_rows_][columns_];
  };

 public:
  static constexpr std::size_t bytes = sizeof(all_entries);

  explicit reader_table(const void* lock)
      : lock_(reinterpret_cast<std::uintptr_t>(lock) << 16),
        rows_(Env::template common<all_entries>().rows),
        // Fibonacci hashing (Knuth, TAOCP 6.4): 2^64 divided by the golden ratio.
        column_((reinterpret_cast<std::uintptr_t>(lock) / 8 * 0x9e37'79b9'7f4a'7c15u >> 32) *
                    columns_ >>
                32) {}

  /// The row of the processor that the caller runs on now.
  [[nodiscard]] static std::uint32_t here() { return Env::cpu() & (rows() - 1); }

  /// Registers the caller, and returns false if it cannot. Sequentially consistent: see BOTH-LOOK of
  /// adaptive_rw.
  bool enter(std::uint32_t row) {
    std::uint64_t seen = at(row).load(std::memory_order_relaxed);
    do {
      if ((seen != 0 && !is_ours(seen)) || (seen & count_) == count_) {
        return false;
      }
    } while (!at(row).compare_exchange_weak(seen, (seen | lock_) + 1, std::memory_order_seq_cst,
                                            std::memory_order_relaxed));
    return true;
  }

  /// Removes a registration of the row; returns false if there is none.
  bool leave(std::uint32_t row) {
    // Acquire: if there is none, the reader that has left by the caller's.
    std::uint64_t seen = at(row).load(std::memory_order_acquire);
    while (is_ours(seen)) {
      const bool frees = (seen & count_) == 1;
      // Release: this section is over.
      if (at(row).compare_exchange_weak(seen, frees ? 0 : seen - 1, std::memory_order_release,
                                        std::memory_order_acquire)) {
        if (frees && (seen & awaited_) != 0) {
          Env::wake_low(at(row), ~std::uint32_t{0});
        }
        return true;
      }
    }
    return false;
  }

  bool leave_any() {
    for (std::uint32_t row = 0; row < rows(); ++row) {
      if (leave(row)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool is_empty() const {
    for (std::uint32_t row = 0; row < rows(); ++row) {
      if (is_ours(at(row).load(std::memory_order_relaxed))) {
        return false;
      }
    }
    return true;
  }

  /// Waits until each row has once had no reader of this lock, or until the deadline: false.
  bool await_empty(std::uint64_t deadline) {
    std::uint64_t spun = 0;
    for (std::uint32_t row = 0; row < rows(); ++row) {
      for (;;) {
        // Sequentially consistent, as enter(); acquires from the readers that have left.
        std::uint64_t seen = at(row).load(std::memory_order_seq_cst);
        if (!is_ours(seen)) {
          break;
        }
        const std::uint64_t now = Env::now();
        if (now >= deadline) {
          return false;
        }
        spun = spun == 0 ? now + Env::template value<spin_bound>() : spun;
        if (now < spun) {
          Env::relax();
        } else if ((seen & awaited_) != 0 ||
                   at(row).compare_exchange_weak(seen, seen | awaited_, std::memory_order_relaxed,
                                                 std::memory_order_relaxed)) {
          const auto low = static_cast<std::uint32_t>(seen | awaited_);
          if (deadline == ~std::uint64_t{0}) {
            Env::wait_low(at(row), low);
          } else {
            Env::wait_low_until(at(row), low, deadline);
          }
        }
      }
    }
    return true;
  }

 private:
  static constexpr std::uint64_t awaited_ = 0x8000;
  static constexpr std::uint64_t count_ = 0x7fff;

  /// How many rows are used: a power of two.
  static std::uint32_t rows() {
    const std::uint32_t wanted = std::bit_ceil(Env::cpus());
    return wanted < most_rows_ ? wanted : most_rows_;
  }

  [[nodiscard]] entry& at(std::uint32_t row) const { return rows_[row][column_]; }
  [[nodiscard]] bool is_ours(std::uint64_t seen) const {
    return (seen & ~(awaited_ | count_)) == lock_;
  }

  std::uint64_t lock_;
  entry (*rows_)[columns_];
  std::uint64_t column_;
};

}  // namespace lockwright
