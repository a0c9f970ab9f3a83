// The native environment with its operations counted. A polling thread sleeps between two polls, so
// that tests with many more threads than CPUs end soon.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../support/sleeps.hpp"
#include "lockwright/env/native.hpp"
#include "lockwright/parts/wait.hpp"

namespace testing_locks {

/// Counts of the operations of one thread of a test, which others read.
struct operation_counts {
  std::atomic<std::uint64_t> polls{0};   ///< steps of polling loops, and sleeps begun
  std::atomic<std::uint64_t> sleeps{0};  ///< futex waits begun
  std::atomic<pid_t> thread{0};          ///< its number in the kernel
};

inline thread_local operation_counts* my_counts = nullptr;

inline std::atomic<std::uint64_t> futex_waits{0};
inline std::atomic<std::uint64_t> futex_wakes{0};
inline std::atomic<std::uint64_t> polls{0};
inline std::atomic<std::int64_t> nodes_out{0};
inline std::atomic<std::uint64_t> bound{
    1'000'000'000'000};  ///< time limit of spinning, in nanoseconds
/// The calling thread's bound, if set. A waiter reads its bound some time after its first
/// polls, so a test with two kinds of waiters cannot change the common one in between.
inline thread_local std::optional<std::uint64_t> my_bound;
/// The time at which a test has stopped the clock, in nanoseconds; 0 if it runs. With a stopped
/// clock no deadline passes early, however busy the machine is.
inline std::atomic<std::uint64_t> stopped_clock{0};
inline thread_local std::uint32_t my_node = 0;
inline std::atomic<std::uint32_t> declared_nodes{1};
inline thread_local std::uint32_t my_cache = 0;  ///< of those in my node
inline std::atomic<std::uint32_t> declared_caches{1};

/// Returns the number of NUMA nodes to declare in tests that are run with several numbers.
inline std::uint32_t nodes_of_this_run() {
  const char* text = std::getenv("LOCKWRIGHT_TEST_NODES");
  return text == nullptr ? 1 : static_cast<std::uint32_t>(std::atoi(text));
}

/// Returns the nodes in rotation, for threads without a node chosen by the test.
inline std::uint32_t next_node() {
  static std::atomic<std::uint32_t> last{0};
  return last.fetch_add(1) % declared_nodes;
}

/// All addresses of queue nodes so far.
inline std::mutex addresses_guard;
inline std::set<void*> addresses;

inline void note_poll() {
  polls.fetch_add(1, std::memory_order_relaxed);
  if (my_counts != nullptr) {
    my_counts->polls.fetch_add(1);
  }
}

inline void note_sleep() {
  futex_waits.fetch_add(1);
  if (my_counts != nullptr) {
    my_counts->sleeps.fetch_add(1);
  }
  note_poll();
}

struct observed : lockwright::native {
  static void relax() {
    note_poll();
    std::this_thread::sleep_for(std::chrono::microseconds{20});
  }
  static void delay(std::uint32_t) { relax(); }
  static void yield() { relax(); }

  static void wait(atomic<std::uint32_t>& word, std::uint32_t expected) {
    note_sleep();
    native::wait(word, expected);
  }
  static void wait_until(atomic<std::uint32_t>& word, std::uint32_t expected,
                         std::uint64_t deadline) {
    note_sleep();
    if (stopped_clock.load() == 0) {
      native::wait_until(word, expected, deadline);
      return;
    }
    while (word.load() == expected && now() < deadline) {
      native::wait_until(word, expected, native::now() + 1'000'000);
    }
  }
  static std::uint64_t now() {
    const std::uint64_t stopped = stopped_clock.load();
    return stopped != 0 ? stopped : native::now();
  }
  static void wake(atomic<std::uint32_t>& word, std::uint32_t count) {
    futex_wakes.fetch_add(1);
    native::wake(word, count);
  }

  template <const lockwright::tunable& What, const char* Lock>
  static std::uint64_t setting() {
    // A bound of the polling before a sleep, in any unit.
    if constexpr (std::string_view{What.name}.starts_with("spin-")) {
      return my_bound.value_or(bound.load());
    } else {
      return native::setting<What, Lock>();
    }
  }
  template <const lockwright::tunable& What>
  static std::uint64_t value() {
    return setting<What, nullptr>();
  }

  static std::uint32_t node() { return my_node; }
  static std::uint32_t nodes() { return declared_nodes.load(); }

  // One package.
  static std::uint32_t groups(std::uint32_t level) {
    return level == 0 ? nodes() * declared_caches.load() : level == 1 ? nodes() : 1;
  }
  static std::uint32_t group() { return my_node * declared_caches.load() + my_cache; }
  static std::uint32_t group_above(std::uint32_t level, std::uint32_t number) {
    return level == 0 ? number / declared_caches.load() : 0;
  }

  template <class Node>
  static Node* take_node() {
    nodes_out.fetch_add(1);
    Node* node = native::take_node<Node>();
    const std::lock_guard guard{addresses_guard};
    addresses.insert(node);
    return node;
  }
  template <class Node>
  static void give_node(Node* node) {
    nodes_out.fetch_sub(1);
    native::give_node(node);
  }

  class libc_mutex {
   public:
    void lock() {
      note_poll();  // about to block, as far as can be observed
      mutex_.lock();
    }
    bool try_lock() { return mutex_.try_lock(); }
    void unlock() { mutex_.unlock(); }

   private:
    native::libc_mutex mutex_;
  };
};

/// Delays the caller at random, so that others run in between.
inline void yield_at_random() {
  static thread_local std::uint32_t state = lockwright::native::self() * 2654435761u;
  state = state * 1664525u + 1013904223u;
  if (state >> 28 == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds{30});
  } else if (state >> 28 < 4) {
    std::this_thread::yield();
  }
}

/// The observed environment, with random delays around every atomic operation, so that other
/// threads run between any two steps of an algorithm.
struct perturbed : observed {
  // NOLINTBEGIN(bugprone-derived-method-shadowing-base-method): that is the purpose
  template <class T>
  struct atomic : std::atomic<T> {
    using base = std::atomic<T>;
    constexpr atomic() = default;
    constexpr atomic(T value) : base(value) {}

    T load(std::memory_order order = std::memory_order_seq_cst) const {
      yield_at_random();
      return base::load(order);
    }
    void store(T value, std::memory_order order = std::memory_order_seq_cst) {
      yield_at_random();
      base::store(value, order);
      yield_at_random();
    }
    T exchange(T value, std::memory_order order = std::memory_order_seq_cst) {
      yield_at_random();
      T before = base::exchange(value, order);
      yield_at_random();
      return before;
    }
    T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst) {
      yield_at_random();
      T before = base::fetch_add(value, order);
      yield_at_random();
      return before;
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                                 std::memory_order failure) {
      yield_at_random();
      bool done = base::compare_exchange_strong(expected, desired, success, failure);
      yield_at_random();
      return done;
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) {
      return compare_exchange_strong(expected, desired, success, failure);
    }
  };
  // NOLINTEND(bugprone-derived-method-shadowing-base-method)
};

/// A thread of a test, on a declared NUMA node.
class test_thread {
 public:
  template <class Body>
  explicit test_thread(Body body) : test_thread{std::move(body), next_node()} {}
  template <class Body>
  test_thread(Body body, std::uint32_t node)
      : thread_{[this, node, body = std::move(body)] {
          my_counts = &counts_;
          counts_.thread = gettid();
          my_node = node;
          body();
          my_counts = nullptr;
        }} {}
  test_thread(const test_thread&) = delete;
  test_thread& operator=(const test_thread&) = delete;
  ~test_thread() { join(); }

  void join() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  /// Returns when the thread polls for the lock, and so is in the queue.
  void wait_until_polling() const { await(counts_.polls); }

  /// Returns when the thread sleeps, which it has announced to the lock before.
  void wait_until_asleep() const {
    await(counts_.sleeps);
    while (!check::sleeps(counts_.thread.load())) {
      std::this_thread::sleep_for(std::chrono::microseconds{20});
    }
  }

  [[nodiscard]] std::uint64_t polls() const { return counts_.polls.load(); }

  [[nodiscard]] bool has_slept() const { return counts_.sleeps.load() != 0; }

 private:
  static void await(const std::atomic<std::uint64_t>& count) {
    while (count.load() == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds{20});
    }
  }

  operation_counts counts_;
  std::thread thread_;
};

using test_threads = std::vector<std::unique_ptr<test_thread>>;

/// Returns when all waiters have polled again, and so have completed all work of waiters. Called by
/// the holder; `inside` states which have been admitted.
inline void let_waiters_poll(const test_threads& all, const std::vector<bool>& inside) {
  std::vector<std::uint64_t> before;
  for (const auto& waiter : all) {
    before.push_back(waiter->polls());
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    while (!inside[i] && all[i]->polls() < before[i] + 4) {
      std::this_thread::sleep_for(std::chrono::microseconds{20});
    }
  }
}

/// Starts `count` threads at the same moment and waits for them.
inline void in_parallel(int count, const std::function<void(int)>& body) {
  std::atomic<bool> go{false};
  test_threads all;
  for (int i = 0; i < count; ++i) {
    all.push_back(std::make_unique<test_thread>([&, i] {
      while (!go.load()) {
        std::this_thread::yield();
      }
      body(i);
    }));
  }
  go = true;
  // Before the first is destroyed: threads may read each other's counts until the last has ended.
  for (const auto& thread : all) {
    thread->join();
  }
}

/// Bounds the work of a loop; nothing is asserted about it.
class budget {
 public:
  explicit budget(std::chrono::milliseconds length)
      : end_{std::chrono::steady_clock::now() + length} {}
  [[nodiscard]] bool spent() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

}  // namespace testing_locks
