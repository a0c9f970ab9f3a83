// A sorted list with a mutex in each node, read without any (Heller et al., A Lazy Concurrent
// List-Based Set Algorithm, OPODIS 2005).
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "quiescence.hpp"

namespace bench {

class alignas(cache_line_pair) lazy_list {
 public:
  struct node {
    std::int64_t key = 0;
    std::atomic<node*> next{nullptr};
    std::atomic<bool> removed{false};
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  };

  lazy_list() {
    head_.key = INT64_MIN;
    tail_.key = INT64_MAX;
    head_.next.store(&tail_, std::memory_order_relaxed);
  }

  [[nodiscard]] bool has(std::int64_t key) const {
    const node* here = head_.next.load(std::memory_order_acquire);
    while (here->key < key) {
      here = here->next.load(std::memory_order_acquire);
    }
    return here->key == key && !here->removed.load(std::memory_order_acquire);
  }

  // Puts a node with that key in, which `make` provides, if there is none.
  template <class Meter, class Make>
  bool add(std::int64_t key, Meter& meter, Make make) {
    return at_place(key, meter, [&](node* before, node* here) {
      if (here->key == key) {
        return false;
      }
      node* const one = make();
      one->key = key;
      one->removed.store(false, std::memory_order_relaxed);
      one->next.store(here, std::memory_order_relaxed);
      before->next.store(one, std::memory_order_release);
      return true;
    });
  }

  // Removes the node with that key, if there is one. Readers may still use it for a while.
  template <class Meter>
  node* remove(std::int64_t key, Meter& meter) {
    node* found = nullptr;
    at_place(key, meter, [&](node* before, node* here) {
      if (here->key != key) {
        return false;
      }
      here->removed.store(true, std::memory_order_release);
      before->next.store(here->next.load(std::memory_order_relaxed), std::memory_order_release);
      found = here;
      return true;
    });
    return found;
  }

  // While no thread changes it. Negative where it is not sorted.
  [[nodiscard]] std::int64_t size() const {
    std::int64_t count = 0;
    std::int64_t last = INT64_MIN;
    for (const node* here = head_.next.load(); here != &tail_; here = here->next.load()) {
      if (here->key <= last) {
        return -1;
      }
      last = here->key;
      ++count;
    }
    return count;
  }

 private:
  // Calls `act` with the two nodes between which the key belongs, when both are locked and
  // still neighbours.
  template <class Meter, class Act>
  bool at_place(std::int64_t key, Meter& meter, Act act) {
    for (;;) {
      node* before = &head_;
      node* here = before->next.load(std::memory_order_acquire);
      while (here->key < key) {
        before = here;
        here = here->next.load(std::memory_order_acquire);
      }
      meter.lock_bare(before->mutex);
      meter.lock_bare(here->mutex);
      const bool valid = !before->removed.load(std::memory_order_relaxed) &&
                         !here->removed.load(std::memory_order_relaxed) &&
                         before->next.load(std::memory_order_relaxed) == here;
      const bool done = valid && act(before, here);
      meter.unlock_bare(here->mutex);
      meter.unlock_bare(before->mutex);
      if (valid) {
        return done;
      }
    }
  }

  node head_;
  node tail_;
};

}  // namespace bench
