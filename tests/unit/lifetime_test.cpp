// Unlock and destruction of a lock by any thread, and the recycling of its queue nodes.
#include <array>

#include "observed.hpp"
#include "rows.hpp"

namespace {

using namespace testing_locks;
using namespace std::chrono_literals;

#if defined(__SANITIZE_THREAD__)
constexpr bool thread_sanitizer = true;
#else
constexpr bool thread_sanitizer = false;
#endif

class Lifetime : public row_test {
 protected:
  void SetUp() override {
    row_test::SetUp();
    bound = 100'000;
    declared_nodes = nodes_of_this_run();
  }
};
LOCKWRIGHT_EACH_ROW(Lifetime);

TEST_P(Lifetime, unlocked_by_another_thread) {
  if (thread_sanitizer && traits().category == lockwright::category::library) {
    GTEST_SKIP() << "ThreadSanitizer reports it as an error of the C library's mutex";
  }
  lock_type lock;
  for (int i = 0; i < 20; ++i) {
    lock.lock();
    test_thread waiter{[&] { lock.lock(); }};
    waiter.wait_until_polling();
    test_thread{[&] { lock.unlock(); }}.join();
    waiter.join();  // it has ended with the lock held
    EXPECT_FALSE(lock.try_lock());
    lock.unlock();
  }
}

// 110,000 acquisitions, 10,000 of them by short-lived threads and released by others, use no more
// distinct nodes than the threads may cache.
TEST_P(Lifetime, queue_nodes_are_recycled) {
  if (thread_sanitizer && traits().category == lockwright::category::library) {
    GTEST_SKIP() << "ThreadSanitizer reports it as an error of the C library's mutex";
  }
  {
    const std::lock_guard guard{addresses_guard};
    addresses.clear();
  }
  struct slot {
    lock_type lock;
    std::atomic<bool> full{false};
  };
  std::array<slot, 16> handed_over;
  lock_type private_lock;
  constexpr std::size_t repetitions = 40;
  constexpr std::size_t rounds = 250;
  for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
    test_thread locker{[&] {
      for (std::size_t i = 0; i < rounds; ++i) {
        slot& current = handed_over[i % handed_over.size()];
        wait_until([&] { return !current.full.load(); });
        current.lock.lock();
        current.full = true;
      }
    }};
    test_thread unlocker{[&] {
      for (std::size_t i = 0; i < rounds; ++i) {
        slot& current = handed_over[i % handed_over.size()];
        wait_until([&] { return current.full.load(); });
        current.lock.unlock();
        current.full = false;
      }
    }};
    for (std::size_t i = 0; i < rounds * 10; ++i) {
      const std::lock_guard guard{private_lock};
    }
  }
  EXPECT_EQ(nodes_out.load(), 0);
  // Each of three live threads may cache 32, the slots 16, and one batch may be in transfer.
  EXPECT_LE(addresses.size(), 256u);
}

}  // namespace
