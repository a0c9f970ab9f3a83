// The indicator of reader_front as counters: one for the threads whose numbers have the same low
// bits, each in its own cache line, about as many as there are processors.
//
// A thread keeps its counter when it moves to another processor, so an unlock needs no context.
// Counters never become negative.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lockwright {

template <class Env>
class reader_slots {
 public:
  struct alignas(64) slot {
    typename Env::template atomic<std::uint32_t> readers;
  };

  /// The number of counters, a power of two.
  static std::uint32_t count() {
    constexpr std::uint32_t most = 128;
    const std::uint32_t wanted = std::bit_ceil(Env::cpus());
    return wanted < most ? wanted : most;
  }

  reader_slots(slot* all, std::uint32_t count) : all_(all), count_(count) {}

  [[gnu::always_inline]] bool enter() {
    std::uint32_t seen = mine().load(std::memory_order_relaxed);
    while (seen < most_) {
      if (mine().compare_exchange_weak(seen, seen + 1, std::memory_order_seq_cst,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  [[gnu::always_inline]] bool leave() { return leave(mine()); }

  bool leave_any() {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (leave(all_[i].readers)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool is_entered() const { return mine().load(std::memory_order_relaxed) != 0; }

  [[nodiscard]] bool is_empty() const {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (all_[i].readers.load(std::memory_order_relaxed) != 0) {
        return false;
      }
    }
    return true;
  }

  template <class Add, class Undo>
  void empty(Add add, Undo undo) {
    for (std::uint32_t i = 0; i < count_; ++i) {
      counter& readers = all_[i].readers;
      std::uint32_t seen = readers.load(std::memory_order_seq_cst);
      while (seen != 0) {
        add();
        // Acquire, also on failure: a reader that has left. Release: the caller's add().
        if (readers.compare_exchange_strong(seen, seen - 1, std::memory_order_acq_rel,
                                            std::memory_order_acquire)) {
          --seen;
        } else {
          undo();
        }
      }
    }
  }

 private:
  using counter = typename Env::template atomic<std::uint32_t>;

  // The sum of all counters has to fit into the inner lock.
  static constexpr std::uint32_t most_ = 1u << 20;

  [[nodiscard]] counter& mine() const { return all_[Env::self() & (count_ - 1)].readers; }

  [[gnu::always_inline]] static bool leave(counter& readers) {
    // Acquire: if there is none, the thread that moved the caller's unit.
    std::uint32_t seen = readers.load(std::memory_order_acquire);
    while (seen != 0) {
      // Release: this section is over.
      if (readers.compare_exchange_weak(seen, seen - 1, std::memory_order_release,
                                        std::memory_order_acquire)) {
        return true;
      }
    }
    return false;
  }

  slot* all_;
  std::uint32_t count_;
};

}  // namespace lockwright
