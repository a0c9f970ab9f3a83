// Properties of every reader-writer lock that the model checker's programs do not reach: units that
// another thread releases, deep recursion, and the child of a fork.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lockwright/rwrows.hpp"
#include "observed.hpp"

namespace {

using namespace testing_locks;
using lockwright::admission;

/// A lock whose type the tests do not know: they are compiled once.
class any_rwlock {
 public:
  any_rwlock() = default;
  any_rwlock(const any_rwlock&) = delete;
  any_rwlock& operator=(const any_rwlock&) = delete;
  virtual ~any_rwlock() = default;
  virtual admission lock_read(bool passes) = 0;
  virtual admission try_lock_read(bool passes) = 0;
  virtual void unlock_read() = 0;
  virtual void lock_write() = 0;
  virtual bool try_lock_write() = 0;
  virtual bool try_lock_write_until(std::uint64_t deadline) = 0;
  virtual void unlock_write(bool writers_first = false) = 0;
  virtual bool is_written() const = 0;
  virtual bool is_read() const = 0;
  virtual void forget_waiters(bool writes) = 0;
};

template <class L>
class calls_of final : public any_rwlock {
  static_assert(lockwright::RwLock<L>);
  static_assert(sizeof(L) <= 24);

 public:
  admission lock_read(bool passes) override { return lock_.lock_read(passes); }
  admission try_lock_read(bool passes) override { return lock_.try_lock_read(passes); }
  void unlock_read() override { lock_.unlock_read(); }
  void lock_write() override { lock_.lock_write(); }
  bool try_lock_write() override { return lock_.try_lock_write(); }
  bool try_lock_write_until(std::uint64_t deadline) override {
    return lock_.try_lock_write_until(deadline);
  }
  void unlock_write(bool writers_first) override { lock_.unlock_write(writers_first); }
  bool is_written() const override { return lock_.is_written(); }
  bool is_read() const override { return lock_.is_read(); }
  void forget_waiters(bool writes) override { lock_.forget_waiters(writes); }

 private:
  L lock_{};
};

struct row {
  const char* name;
  std::unique_ptr<any_rwlock> (*make)();
};

template <class L>
std::unique_ptr<any_rwlock> make() {
  return std::make_unique<calls_of<L>>();
}

constexpr row rows[] = {
#define LOCKWRIGHT_RWLOCK(name, identifier, ...) \
  {#identifier, make<lockwright::identifier##_lock<observed>>},
#include "lockwright/rwlocks.def"
#undef LOCKWRIGHT_RWLOCK
};

class RwLocks : public ::testing::TestWithParam<row> {
 protected:
  void SetUp() override { bound = 0; }

  /// Writes and reads in turn, and reads after it had to wait, so that a lock with a mode for readers
  /// enters it.
  void use() {
    for (int i = 0; i < 200; ++i) {
      lock.lock_write();
      lock.unlock_write();
      for (int j = 0; j < 4; ++j) {
        ASSERT_EQ(lock.lock_read(false), admission::inside);
        lock.unlock_read();
      }
    }
    lock.lock_write();
    test_thread reader{[this] {
      EXPECT_EQ(lock.lock_read(false), admission::inside);
      lock.unlock_read();
    }};
    // Long enough that it waits in most runs; the tests are right if it does not.
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    lock.unlock_write();
    reader.join();
  }

  void expect_free() {
    EXPECT_FALSE(lock.is_read());
    ASSERT_TRUE(lock.try_lock_write());
    EXPECT_TRUE(lock.is_written());
    lock.unlock_write();
    ASSERT_EQ(lock.try_lock_read(false), admission::inside);
    EXPECT_TRUE(lock.is_read());
    EXPECT_FALSE(lock.is_written());
    lock.unlock_read();
  }

  std::unique_ptr<any_rwlock> made = GetParam().make();
  any_rwlock& lock = *made;
};

INSTANTIATE_TEST_SUITE_P(Each, RwLocks, ::testing::ValuesIn(rows),
                         [](const auto& tested) { return std::string{tested.param.name}; });

// Undefined in POSIX; the C library's lock counts, and so do these.
TEST_P(RwLocks, readers_may_be_released_by_other_threads) {
  use();
  constexpr int readers = 5;
  for (int i = 0; i < readers; ++i) {
    test_thread{[this] { EXPECT_EQ(lock.lock_read(false), admission::inside); }}.join();
  }
  for (int i = 0; i < readers; ++i) {
    EXPECT_TRUE(lock.is_read());
    EXPECT_FALSE(lock.try_lock_write());
    test_thread{[this] { lock.unlock_read(); }}.join();
  }
  expect_free();
}

TEST_P(RwLocks, a_reader_enters_again_many_times) {
  use();
  constexpr int times = 5'000;
  for (int i = 0; i < times; ++i) {
    ASSERT_EQ(lock.lock_read(i != 0), admission::inside);
  }
  for (int i = 0; i < times; ++i) {
    ASSERT_TRUE(lock.is_read());
    ASSERT_FALSE(lock.is_written());
    lock.unlock_read();
  }
  expect_free();
}

// The waiting writer has moved the reader's unit by then, where the lock does so.
TEST_P(RwLocks, a_reader_enters_again_beside_a_waiting_writer) {
  use();
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(lock.lock_read(false), admission::inside);
    test_thread writer{[this] {
      lock.lock_write();
      lock.unlock_write();
    }};
    // Long enough that it waits in most rounds; the test is right if it does not.
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    ASSERT_EQ(lock.lock_read(true), admission::inside);
    ASSERT_EQ(lock.try_lock_read(true), admission::inside);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(lock.is_read());
      ASSERT_FALSE(lock.is_written());
      lock.unlock_read();
    }
    writer.join();
  }
  expect_free();
}

TEST_P(RwLocks, a_writer_that_gives_up_leaves_the_readers_inside) {
  use();
  ASSERT_EQ(lock.lock_read(false), admission::inside);
  test_thread{[this] {
    EXPECT_FALSE(lock.try_lock_write_until(observed::now() + 2'000'000));
  }}.join();
  test_thread{[this] {
    ASSERT_EQ(lock.lock_read(false), admission::inside);
    lock.unlock_read();
  }}.join();
  EXPECT_TRUE(lock.is_read());
  lock.unlock_read();
  expect_free();
}

// As in the child of a fork: the threads that wait in the parent do not exist.
TEST_P(RwLocks, a_held_lock_stays_held_without_its_waiters) {
  for (const bool writes : {false, true}) {
    use();
    if (writes) {
      lock.lock_write();
    } else {
      ASSERT_EQ(lock.lock_read(false), admission::inside);
    }
    lock.forget_waiters(writes);
    EXPECT_EQ(lock.is_written(), writes);
    EXPECT_EQ(lock.is_read(), !writes);
    test_thread{[this] { EXPECT_FALSE(lock.try_lock_write()); }}.join();
    if (writes) {
      lock.unlock_write();
    } else {
      lock.unlock_read();
    }
    expect_free();
    use();
  }
}

TEST_P(RwLocks, readers_and_writers_in_many_threads) {
  std::array<long, 2> pair{};
  std::atomic<long> written{0};
  constexpr int count = 6;
  constexpr int times = 400;
  in_parallel(count, [&](int i) {
    for (int j = 0; j < times; ++j) {
      if ((i + j) % 5 == 0) {
        lock.lock_write();
        ++pair[0];
        ++pair[1];
        lock.unlock_write((i + j) % 10 == 0);
        ++written;
      } else {
        ASSERT_EQ(lock.lock_read(false), admission::inside);
        EXPECT_EQ(pair[0], pair[1]);
        lock.unlock_read();
      }
    }
  });
  EXPECT_EQ(pair[0], written.load());
  expect_free();
}

}  // namespace
