// When memory that readers may still access can be reused.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "../../calibrate/support.hpp"

namespace bench {

// A thread holds no reference between two of its operations. So a node removed from a structure can
// be used again when every thread has ended the operation in which it was at the time, or was in
// none (quiescent states: McKenney and Slingwine, Read-Copy Update, 1998). Each thread counts on a
// line of its own.
class quiescence {
 public:
  explicit quiescence(std::size_t threads) : counts_(threads) {}

  // Around each operation of a thread: odd within, even outside.
  void begins(std::size_t thread) {
    step(thread, std::memory_order_relaxed);
    // [seen] before the reads of the operation.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void ended(std::size_t thread) { step(thread, std::memory_order_release); }

  using moment = std::vector<std::uint64_t>;

  [[nodiscard]] moment now() const {
    // A node is removed before any thread's count is read: a thread outside an operation then cannot
    // find it, by [seen].
    std::atomic_thread_fence(std::memory_order_seq_cst);
    moment seen;
    seen.reserve(counts_.size());
    for (const count& one : counts_) {
      seen.push_back(one.value.load(std::memory_order_relaxed));
    }
    return seen;
  }

  // Returns true if each thread has ended the operation in which it was at that moment.
  [[nodiscard]] bool is_over(const moment& then) const {
    for (std::size_t i = 0; i < then.size(); ++i) {
      if (then[i] % 2 == 1 && counts_[i].value.load(std::memory_order_acquire) == then[i]) {
        return false;
      }
    }
    return true;
  }

 private:
  void step(std::size_t thread, std::memory_order order) {
    auto& mine = counts_[thread].value;
    mine.store(mine.load(std::memory_order_relaxed) + 1, order);
  }

  struct alignas(cache_line_pair) count {
    std::atomic<std::uint64_t> value{0};
  };
  std::vector<count> counts_;
};

// The nodes that one thread has removed, until they can be reused.
template <class T>
class retired_nodes {
 public:
  explicit retired_nodes(const quiescence& threads) : threads_{threads} {}

  void put(T* one) {
    fresh_.push_back(one);
    if (fresh_.size() >= batch) {
      waiting_.emplace_back(threads_.now(), std::move(fresh_));
      fresh_.clear();
    }
  }

  // One that can be used again, or nullptr.
  T* take() {
    if (ready_.empty() && !waiting_.empty() && threads_.is_over(waiting_.front().first)) {
      ready_ = std::move(waiting_.front().second);
      waiting_.pop_front();
    }
    if (ready_.empty()) {
      return nullptr;
    }
    T* const one = ready_.back();
    ready_.pop_back();
    return one;
  }

 private:
  // Reading all threads' counts takes time, so it is done for many nodes at once.
  static constexpr std::size_t batch = 64;
  const quiescence& threads_;
  std::vector<T*> fresh_;
  std::deque<std::pair<quiescence::moment, std::vector<T*>>> waiting_;
  std::vector<T*> ready_;
};

}  // namespace bench
