// What the rows of the registry say of themselves, tested.
#include <time.h>

#include <type_traits>

#include "observed.hpp"
#include "rows.hpp"

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;
using lockwright::category;

/// As observed, and every atomic read-modify-write instruction of the algorithm is counted.
struct counted : observed {
  static inline std::uint64_t updates = 0;

  // NOLINTBEGIN(bugprone-derived-method-shadowing-base-method): that is the purpose
  template <class T>
  struct atomic : std::atomic<T> {
    using base = std::atomic<T>;
    constexpr atomic() = default;
    constexpr atomic(T value) : base(value) {}

    // On x86-64 a sequentially consistent store is an exchange.
    void store(T value, std::memory_order order) {
      updates += order == std::memory_order_seq_cst ? 1 : 0;
      base::store(value, order);
    }
    T exchange(T value, std::memory_order order) {
      ++updates;
      return base::exchange(value, order);
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                                 std::memory_order failure) {
      ++updates;
      return base::compare_exchange_strong(expected, desired, success, failure);
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) {
      return compare_exchange_strong(expected, desired, success, failure);
    }
    template <class N>
    T fetch_add(N value, std::memory_order order) {
      ++updates;
      return base::fetch_add(value, order);
    }
    template <class N>
    T fetch_sub(N value, std::memory_order order) {
      ++updates;
      return base::fetch_sub(value, order);
    }
    T fetch_and(T value, std::memory_order order) {
      ++updates;
      return base::fetch_and(value, order);
    }
    T fetch_or(T value, std::memory_order order) {
      ++updates;
      return base::fetch_or(value, order);
    }
    T fetch_xor(T value, std::memory_order order) {
      ++updates;
      return base::fetch_xor(value, order);
    }
    // These would not be counted.
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

  static bool draw_if_served(observed::atomic<std::uint32_t>& grant,
                             observed::atomic<std::uint32_t>& request, std::uint32_t next) {
    ++updates;
    return observed::draw_if_served(grant, request, next);
  }
};

/// What the uncontended way through a lock consists of.
struct uncontended_path {
  std::uint64_t updates_in_lock;
  std::uint64_t updates_in_unlock;
  std::int64_t queue_nodes;

  [[nodiscard]] bool is_short() const {
    return updates_in_lock <= 1 && updates_in_unlock <= 1 && queue_nodes == 0;
  }
};

template <class L>
uncontended_path measure_path() {
  L lock;
  // What is made once, or learnt, is there afterwards.
  for (int i = 0; i < 100; ++i) {
    lock.lock();
    lock.unlock();
  }
  uncontended_path path{};
  const std::int64_t nodes = nodes_out.load();
  counted::updates = 0;
  lock.lock();
  path.updates_in_lock = counted::updates;
  path.queue_nodes = nodes_out.load() - nodes;
  counted::updates = 0;
  lock.unlock();
  path.updates_in_unlock = counted::updates;
  return path;
}

template <class Row>
class Properties : public ::testing::Test {
 protected:
  using native_lock = typename Row::template lock<lockwright::native>;
  using counted_lock = typename Row::template lock<counted>;
  static constexpr const lockwright::lock_traits& traits = native_lock::traits;

  void SetUp() override {
    bound = 100'000;
    declared_nodes = 1;
    my_node = 0;
  }
};
TYPED_TEST_SUITE(Properties, all_rows, row_name);

/// Who got the lock after whom, of threads that came one after the other, on each node in turn.
template <class L>
std::vector<int> order_of_admission(std::uint64_t spinning, std::uint32_t nodes) {
  constexpr int count = 12;
  bound = spinning;
  declared_nodes = nodes;
  L lock;
  std::vector<int> order;
  lock.lock();
  actors waiters;
  for (int i = 0; i < count; ++i) {
    waiters.push_back(std::make_unique<actor>(
        [&, i] {
          const std::lock_guard guard{lock};
          order.push_back(i);
        },
        static_cast<std::uint32_t>(i) % nodes));
    waiters.back()->wait_until_polling();
  }
  lock.unlock();
  waiters.clear();
  EXPECT_EQ(order.size(), std::size_t{count});
  return order;
}

TYPED_TEST(Properties, admits_in_the_order_of_arrival) {
  using L = typename TypeParam::template lock<observed>;
  if (!TestFixture::traits.fifo) {
    GTEST_SKIP() << "not promised";
  }
  for (const std::uint64_t spinning : {std::uint64_t{0}, std::uint64_t{1'000'000'000'000}}) {
    for (const std::uint32_t nodes : {1u, 3u}) {
      const std::vector<int> order = order_of_admission<L>(spinning, nodes);
      EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    }
  }
}

// Light: no more than one atomic read-modify-write to take a free lock and one to free it, and no
// queue node. A lock that says it is not light has a longer way, or does its work elsewhere: those
// that keep to a node and those that watch the load are heavy by what they do when it matters.
TYPED_TEST(Properties, light_is_a_short_uncontended_path) {
  if (TestFixture::traits.category == category::library) {
    GTEST_SKIP() << "the C library's code";
  }
  const uncontended_path path = measure_path<typename TestFixture::counted_lock>();
  SCOPED_TRACE(::testing::Message()
               << path.updates_in_lock << " read-modify-writes in lock(), "
               << path.updates_in_unlock << " in unlock(), " << path.queue_nodes << " nodes");
  if (TestFixture::traits.light) {
    EXPECT_TRUE(path.is_short());
  } else if (TestFixture::traits.category == category::competitive_succession ||
             TestFixture::traits.category == category::direct_handoff) {
    EXPECT_FALSE(path.is_short());
  }
}

// Four threads, one of which holds the lock: no more than stated for each. Some locks take a node
// when they hold, some only when they wait.
TYPED_TEST(Properties, takes_no_more_for_queue_nodes_than_stated) {
  typename TypeParam::template lock<observed> lock;
  const std::int64_t before = nodes_out.load();
  const auto taken = [before] {
    return (nodes_out.load() - before) * std::int64_t{lockwright::native_env::node_size};
  };
  const std::int64_t stated{TestFixture::traits.node_bytes};
  lock.lock();
  EXPECT_LE(taken(), stated);
  actors waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.push_back(std::make_unique<actor>([&] { const std::lock_guard guard{lock}; }));
    waiters.back()->wait_until_polling();
    EXPECT_LE(taken(), stated * (i + 2));
  }
  lock.unlock();
  waiters.clear();
  EXPECT_EQ(taken(), 0);
}

/// Processor time of a thread, for others to read.
class processor_clock {
 public:
  /// To be called by the thread itself.
  void start() {
    ASSERT_EQ(pthread_getcpuclockid(pthread_self(), &clock_), 0);
    started_ = now();
    running_ = true;
  }
  void await_start() const {
    while (!running_.load()) {
      std::this_thread::sleep_for(100us);
    }
  }
  [[nodiscard]] std::chrono::nanoseconds used() const { return now() - started_; }

 private:
  [[nodiscard]] std::chrono::nanoseconds now() const {
    timespec t{};
    EXPECT_EQ(clock_gettime(clock_, &t), 0);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
  }

  clockid_t clock_{};
  std::chrono::nanoseconds started_{};
  std::atomic<bool> running_{false};
};

/// Of each waiter while the lock is held for a while: what one that spins uses up in no time, and
/// one that parks never.
constexpr auto burnt = 10ms;

template <class L>
void hold_while_others_wait(const std::function<void(const std::vector<processor_clock>&)>& then) {
  constexpr std::size_t count = 4;
  L lock;
  std::vector<processor_clock> clocks(count);
  lock.lock();
  actors waiters;
  for (std::size_t i = 0; i < count; ++i) {
    waiters.push_back(std::make_unique<actor>([&, i] {
      clocks[i].start();
      lock.lock();
      lock.unlock();
    }));
    clocks[i].await_start();
  }
  then(clocks);
  lock.unlock();
}

TYPED_TEST(Properties, parked_waiters_use_no_processor_time) {
  if (!TestFixture::traits.parks()) {
    GTEST_SKIP() << "does not park";
  }
  hold_while_others_wait<typename TestFixture::native_lock>([](const auto& clocks) {
    std::this_thread::sleep_for(100ms);
    for (const processor_clock& waiter : clocks) {
      EXPECT_LT(waiter.used(), burnt);
    }
  });
}

// The same measure sees a lock whose waiters do not park, however busy the machine is.
TEST(TheMeasures, see_that_a_spinning_waiter_burns) {
  hold_while_others_wait<lockwright::mcs_spin_lock<lockwright::native>>([](const auto& clocks) {
    for (const processor_clock& waiter : clocks) {
      while (waiter.used() < burnt) {
        std::this_thread::sleep_for(1ms);
      }
    }
  });
}

// Twelve pollers in any order, or twelve threads on three nodes that take turns by node.
TEST(TheMeasures, see_another_order_than_that_of_arrival) {
  const auto never = std::uint64_t{1'000'000'000'000};
  std::vector<int> order = order_of_admission<lockwright::ttas_lock<observed>>(never, 1);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  order = order_of_admission<lockwright::hmcs_lock<observed>>(never, 3);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
}

TEST(TheMeasures, see_a_long_path) {
  EXPECT_FALSE(measure_path<lockwright::hmcs_lock<counted>>().is_short());
  EXPECT_FALSE(measure_path<lockwright::mcs_spin_lock<counted>>().is_short());
  EXPECT_TRUE(measure_path<lockwright::ticket_lock<counted>>().is_short());
  EXPECT_EQ(measure_path<lockwright::futex_lock<counted>>().updates_in_lock, 1u);
  EXPECT_EQ(measure_path<lockwright::futex_lock<counted>>().updates_in_unlock, 1u);
}

}  // namespace
