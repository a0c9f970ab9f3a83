// The words of the simplest locks: free or held, and acquired by one atomic step.
#pragma once

#include <atomic>
#include <cstdint>

namespace lockwright {

/// Acquired by compare-and-swap: an attempt at a held lock writes nothing.
///
///   word | meaning
///   0    | free
///   1    | held
template <class Env>
class cas_word {
 public:
  bool take() {
    std::uint32_t free = 0;
    // Acquire pairs with the release store in release().
    return word_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  void release() { word_.store(0, std::memory_order_release); }

 private:
  typename Env::template atomic<std::uint32_t> word_{};
};

/// Acquired by exchange: an attempt at a held lock writes the value that it finds.
///
///   byte | meaning
///   0    | free
///   1    | held
template <class Env>
class exchange_byte {
 public:
  /// Relaxed: take() acquires.
  [[nodiscard]] bool held() const { return byte_.load(std::memory_order_relaxed) != 0; }

  // Acquire pairs with the release store in release().
  bool take() { return byte_.exchange(1, std::memory_order_acquire) == 0; }

  void release() { byte_.store(0, std::memory_order_release); }

 private:
  typename Env::template atomic<std::uint8_t> byte_{};
};

}  // namespace lockwright
