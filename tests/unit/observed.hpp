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

#include <gtest/gtest.h>

#include "../support/budget.hpp"
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

/// Returns once the predicate holds. Sleeps meanwhile: on a busy machine each yield would cost time
/// slices.
template <class Predicate>
void wait_until(Predicate predicate) {
  while (!predicate()) {
    std::this_thread::sleep_for(std::chrono::microseconds{20});
  }
}

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

enum class access : std::uint8_t { load, store, update };

/// An atomic variable, each operation of which happens during the life of an `Around`, which is
/// constructed with its kind and order.
// NOLINTBEGIN(bugprone-derived-method-shadowing-base-method): that is the purpose
template <class T, class Around>
struct watched_atomic : std::atomic<T> {
  using base = std::atomic<T>;
  using order_t = std::memory_order;
  constexpr watched_atomic() = default;
  constexpr watched_atomic(T value) : base(value) {}

  T load(order_t order = order_t::seq_cst) const {
    const Around around{access::load, order};
    return base::load(order);
  }
  void store(T value, order_t order = order_t::seq_cst) {
    const Around around{access::store, order};
    base::store(value, order);
  }
  T exchange(T value, order_t order = order_t::seq_cst) {
    const Around around{access::update, order};
    return base::exchange(value, order);
  }
  bool compare_exchange_strong(T& expected, T desired, order_t success, order_t failure) {
    const Around around{access::update, success};
    return base::compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired, order_t success, order_t failure) {
    return compare_exchange_strong(expected, desired, success, failure);
  }
  template <class N>
  T fetch_add(N value, order_t order = order_t::seq_cst) {
    const Around around{access::update, order};
    return base::fetch_add(static_cast<typename base::difference_type>(value), order);
  }
  template <class N>
  T fetch_sub(N value, order_t order = order_t::seq_cst) {
    const Around around{access::update, order};
    return base::fetch_sub(static_cast<typename base::difference_type>(value), order);
  }
  T fetch_and(T value, order_t order = order_t::seq_cst) {
    const Around around{access::update, order};
    return base::fetch_and(value, order);
  }
  T fetch_or(T value, order_t order = order_t::seq_cst) {
    const Around around{access::update, order};
    return base::fetch_or(value, order);
  }
  T fetch_xor(T value, order_t order = order_t::seq_cst) {
    const Around around{access::update, order};
    return base::fetch_xor(value, order);
  }
  // These would not be watched.
  T operator=(T) = delete;
  T operator++() = delete;
  T operator++(int) = delete;
  T operator--() = delete;
  T operator--(int) = delete;
  T operator+=(T) = delete;
  T operator-=(T) = delete;
  T operator&=(T) = delete;
  T operator|=(T) = delete;
  T operator^=(T) = delete;
};
// NOLINTEND(bugprone-derived-method-shadowing-base-method)

/// The observed environment, with every atomic read-modify-write instruction counted. Where a test wants
/// it, there are random delays around every atomic operation, so that other threads run between any
/// two steps of an algorithm.
struct watched : observed {
  static inline thread_local std::uint64_t updates = 0;
  static inline std::atomic<bool> delays{false};  ///< until the end of the test

  struct around {
    // On x86-64 a sequentially consistent store is an exchange.
    around(access kind, std::memory_order order) : loads{kind == access::load} {
      updates +=
          kind == access::update || (kind == access::store && order == std::memory_order_seq_cst)
              ? 1
              : 0;
      delay();
    }
    around(const around&) = delete;
    around& operator=(const around&) = delete;
    ~around() {
      if (!loads) {
        delay();
      }
    }
    static void delay() {
      if (delays.load(std::memory_order_relaxed)) {
        yield_at_random();
      }
    }
    bool loads;
  };
  template <class T>
  using atomic = watched_atomic<T, around>;

  static bool draw_if_served(observed::atomic<std::uint32_t>& grant,
                             observed::atomic<std::uint32_t>& request, std::uint32_t next) {
    ++updates;
    return observed::draw_if_served(grant, request, next);
  }
};

/// A watched lock with delays.
template <class L>
struct perturbed : L {
  perturbed() { watched::delays = true; }
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
  void wait_until_polling() const {
    wait_until([this] { return polls() != 0; });
  }

  /// Returns when the thread sleeps, which it has announced to the lock before.
  void wait_until_asleep() const {
    wait_until([this] { return has_slept(); });
    wait_until([this] { return check::sleeps(counts_.thread.load()); });
  }

  [[nodiscard]] std::uint64_t polls() const { return counts_.polls.load(); }

  [[nodiscard]] bool has_slept() const { return counts_.sleeps.load() != 0; }

 private:
  operation_counts counts_;
  std::thread thread_;
};

using test_threads = std::vector<std::unique_ptr<test_thread>>;

/// Threads that queue for a held lock one after the other. Each records a number when it is admitted.
template <class L>
class waiting_line {
 public:
  explicit waiting_line(L& lock) : lock_{lock} {}

  /// Returns when the thread waits. node: the declared NUMA node of the thread.
  void add(std::uint32_t node, std::uint32_t number) {
    all_.push_back(std::make_unique<test_thread>(
        [this, number] {
          const std::lock_guard guard{lock_};
          admitted_.push_back(number);
        },
        node));
    all_.back()->wait_until_polling();
  }
  void add(std::uint32_t node) { add(node, node); }

  /// Called by the holder: unlocks, and returns the numbers in the order of admission.
  const std::vector<std::uint32_t>& admit() {
    lock_.unlock();
    all_.clear();
    return admitted_;
  }
  /// Called by the holder, which may have acquired the lock since.
  [[nodiscard]] const std::vector<std::uint32_t>& admitted() const { return admitted_; }

 private:
  L& lock_;
  std::vector<std::uint32_t> admitted_;
  test_threads all_;
};

/// A thread that locks, and unlocks when it is asked to leave or destroyed.
template <class L>
class holder {
 public:
  explicit holder(L& lock)
      : thread_{[this, &lock] {
          lock.lock();
          in_ = true;
          wait_until([this] { return leaves_.load(); });
          lock.unlock();
        }} {}
  holder(const holder&) = delete;
  holder& operator=(const holder&) = delete;
  ~holder() { leave(); }

  void leave() {
    leaves_ = true;
    thread_.join();
  }
  void wait_until_inside() const {
    wait_until([this] { return in_.load(); });
  }
  [[nodiscard]] const test_thread& thread() const { return thread_; }
  [[nodiscard]] bool in() const { return in_; }

 private:
  std::atomic<bool> leaves_{false};
  std::atomic<bool> in_{false};
  test_thread thread_;
};

/// A test that begins with the same settings, and after which no queue node is in use.
class lock_test : public ::testing::Test {
 protected:
  static constexpr std::uint64_t for_ever = 1'000'000'000'000;

  void SetUp() override {
    nodes_out = 0;
    futex_waits = futex_wakes = polls = 0;
    bound = for_ever;
    declared_nodes = declared_caches = 1;
    my_node = my_cache = 0;
  }
  void TearDown() override {
    declared_nodes = declared_caches = 1;
    stopped_clock = 0;
    watched::delays = false;
    EXPECT_EQ(nodes_out.load(), 0) << "queue nodes were lost";
  }
};

/// Returns when all waiters have polled again, and so have completed all work of waiters. Called by
/// the holder; `inside` states which have been admitted.
inline void let_waiters_poll(const test_threads& all, const std::vector<bool>& inside) {
  std::vector<std::uint64_t> before;
  for (const auto& waiter : all) {
    before.push_back(waiter->polls());
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    wait_until([&] { return inside[i] || all[i]->polls() >= before[i] + 4; });
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

using budget = check::Budget;

}  // namespace testing_locks
