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

template <template <class> class L>
struct row {
  using lock = L<observed>;
  static_assert(lockwright::RwLock<lock>);
  static_assert(sizeof(lock) <= 24);
};

template <class Row>
class RwLocks : public ::testing::Test {
 protected:
  using lock_type = typename Row::lock;

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

  lock_type lock;
};

using rows = ::testing::Types<
#define LOCKWRIGHT_RWLOCK(name, identifier, ...) row<lockwright::identifier##_lock>,
#include "lockwright/rwlocks.def"
#undef LOCKWRIGHT_RWLOCK
    row<lockwright::phase_fair_lock>>;

struct row_names {
  template <class>
  static std::string GetName(int index) {
    constexpr const char* names[] = {
#define LOCKWRIGHT_RWLOCK(name, identifier, ...) #identifier,
#include "lockwright/rwlocks.def"
#undef LOCKWRIGHT_RWLOCK
        "again"};
    return names[index];
  }
};
TYPED_TEST_SUITE(RwLocks, rows, row_names);

// Undefined in POSIX; the C library's lock counts, and so do these.
TYPED_TEST(RwLocks, readers_may_be_released_by_other_threads) {
  this->use();
  constexpr int readers = 5;
  for (int i = 0; i < readers; ++i) {
    test_thread{[this] { EXPECT_EQ(this->lock.lock_read(false), admission::inside); }}.join();
  }
  for (int i = 0; i < readers; ++i) {
    EXPECT_TRUE(this->lock.is_read());
    EXPECT_FALSE(this->lock.try_lock_write());
    test_thread{[this] { this->lock.unlock_read(); }}.join();
  }
  this->expect_free();
}

TYPED_TEST(RwLocks, a_reader_enters_again_many_times) {
  this->use();
  constexpr int times = 5'000;
  for (int i = 0; i < times; ++i) {
    ASSERT_EQ(this->lock.lock_read(i != 0), admission::inside);
  }
  for (int i = 0; i < times; ++i) {
    ASSERT_TRUE(this->lock.is_read());
    ASSERT_FALSE(this->lock.is_written());
    this->lock.unlock_read();
  }
  this->expect_free();
}

// The waiting writer has moved the reader's unit by then, where the lock does so.
TYPED_TEST(RwLocks, a_reader_enters_again_beside_a_waiting_writer) {
  this->use();
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(this->lock.lock_read(false), admission::inside);
    test_thread writer{[this] {
      this->lock.lock_write();
      this->lock.unlock_write();
    }};
    // Long enough that it waits in most rounds; the test is right if it does not.
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    ASSERT_EQ(this->lock.lock_read(true), admission::inside);
    ASSERT_EQ(this->lock.try_lock_read(true), admission::inside);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(this->lock.is_read());
      ASSERT_FALSE(this->lock.is_written());
      this->lock.unlock_read();
    }
    writer.join();
  }
  this->expect_free();
}

TYPED_TEST(RwLocks, a_writer_that_gives_up_leaves_the_readers_inside) {
  this->use();
  ASSERT_EQ(this->lock.lock_read(false), admission::inside);
  test_thread{[this] {
    EXPECT_FALSE(this->lock.try_lock_write_until(observed::now() + 2'000'000));
  }}.join();
  test_thread{[this] {
    ASSERT_EQ(this->lock.lock_read(false), admission::inside);
    this->lock.unlock_read();
  }}.join();
  EXPECT_TRUE(this->lock.is_read());
  this->lock.unlock_read();
  this->expect_free();
}

// As in the child of a fork: the threads that wait in the parent do not exist.
TYPED_TEST(RwLocks, a_held_lock_stays_held_without_its_waiters) {
  for (const bool writes : {false, true}) {
    this->use();
    if (writes) {
      this->lock.lock_write();
    } else {
      ASSERT_EQ(this->lock.lock_read(false), admission::inside);
    }
    this->lock.forget_waiters(writes);
    EXPECT_EQ(this->lock.is_written(), writes);
    EXPECT_EQ(this->lock.is_read(), !writes);
    test_thread{[this] { EXPECT_FALSE(this->lock.try_lock_write()); }}.join();
    if (writes) {
      this->lock.unlock_write();
    } else {
      this->lock.unlock_read();
    }
    this->expect_free();
    this->use();
  }
}

TYPED_TEST(RwLocks, readers_and_writers_in_many_threads) {
  std::array<long, 2> pair{};
  std::atomic<long> written{0};
  constexpr int count = 6;
  constexpr int times = 400;
  in_parallel(count, [&](int i) {
    for (int j = 0; j < times; ++j) {
      if ((i + j) % 5 == 0) {
        this->lock.lock_write();
        ++pair[0];
        ++pair[1];
        this->lock.unlock_write((i + j) % 10 == 0);
        ++written;
      } else {
        ASSERT_EQ(this->lock.lock_read(false), admission::inside);
        EXPECT_EQ(pair[0], pair[1]);
        this->lock.unlock_read();
      }
    }
  });
  EXPECT_EQ(pair[0], written.load());
  this->expect_free();
}

}  // namespace
