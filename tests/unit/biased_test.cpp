// The bias of a biased lock: its owner, and what ends it.
#include <gtest/gtest.h>

#include "lockwright/row/biased_futex.hpp"
#include "lockwright/row/biased_mcs_stp.hpp"
#include "measures.hpp"

namespace {

using namespace testing_locks;

std::atomic<int> revocations{0};

/// Counts heavy barriers: each is one revocation.
template <class Env>
struct counted_barriers : Env {
  static void heavy_barrier() {
    ++revocations;
    Env::heavy_barrier();
  }
};

using counted_lock = lockwright::biased_futex_lock<counted_barriers<watched>>;

template <class L>
class Biased : public lock_test {
 protected:
  void SetUp() override {
    lock_test::SetUp();
    revocations = 0;
    bound = 100'000;
  }
};
using locks = ::testing::Types<lockwright::biased_futex_lock<counted_barriers<observed>>,
                               lockwright::biased_mcs_stp_lock<counted_barriers<observed>>>;
TYPED_TEST_SUITE(Biased, locks);

template <class L>
void section(L& lock) {
  lock.lock();
  lock.unlock();
}

TEST(BiasedPath, the_first_thread_makes_no_atomic_update) {
  revocations = 0;
  watched::updates = 0;
  counted_lock lock;
  section(lock);
  EXPECT_EQ(watched::updates, 1u) << "to become the owner";
  for (int i = 0; i < 1'000; ++i) {
    section(lock);
    ASSERT_TRUE(lock.try_lock());
    ASSERT_FALSE(lock.try_lock());
    lock.unlock();
  }
  EXPECT_EQ(watched::updates, 1u);
  EXPECT_EQ(revocations.load(), 0);
}

TEST(BiasedPath, is_that_of_an_ordinary_lock_after_a_second_thread) {
  counted_lock lock;
  section(lock);
  test_thread{[&] { section(lock); }}.join();
  watched::updates = 0;
  for (int i = 0; i < 100; ++i) {
    section(lock);
  }
  EXPECT_EQ(watched::updates, 200u);
}

TYPED_TEST(Biased, the_second_thread_revokes_it_for_ever) {
  TypeParam lock;
  section(lock);
  test_thread{[&] { section(lock); }}.join();
  EXPECT_EQ(revocations.load(), 1);
  for (int i = 0; i < 100; ++i) {
    section(lock);
  }
  for (int i = 0; i < 10; ++i) {
    test_thread{[&] { section(lock); }}.join();
  }
  EXPECT_EQ(revocations.load(), 1);
}

TYPED_TEST(Biased, a_refused_trylock_does_not_revoke_it) {
  TypeParam lock;
  lock.lock();
  test_thread{[&] { EXPECT_FALSE(lock.try_lock()); }}.join();
  lock.unlock();
  EXPECT_EQ(revocations.load(), 0);
  test_thread{[&] {
    ASSERT_TRUE(lock.try_lock());
    lock.unlock();
  }}.join();
  EXPECT_EQ(revocations.load(), 1);
}

// Another thread unlocks for the owner, which then locks as before.
TYPED_TEST(Biased, is_not_revoked_by_an_unlock) {
  TypeParam lock;
  int counter = 0;
  for (int i = 0; i < 100; ++i) {
    lock.lock();
    ++counter;
    test_thread{[&] {
      ++counter;
      lock.unlock();
    }}.join();
  }
  EXPECT_EQ(counter, 200);
  EXPECT_EQ(revocations.load(), 0);
}

// The owner locks again before another thread has unlocked for it: it has to wait.
TYPED_TEST(Biased, excludes_its_owner_while_held) {
  TypeParam lock;
  std::atomic<bool> unlocked{false};
  test_thread owner{[&] {
    lock.lock();
    lock.lock();
    EXPECT_TRUE(unlocked.load());
    lock.unlock();
  }};
  owner.wait_until_polling();
  unlocked = true;
  lock.unlock();
  owner.join();
}

TYPED_TEST(Biased, revocation_races_with_the_owner) {
  const budget time{std::chrono::milliseconds{300}};
  for (int round = 0; round < 1'000 && !time.spent(); ++round) {
    TypeParam lock;
    long counter = 0;
    std::atomic<bool> owned{false};
    in_parallel(3, [&](int i) {
      if (i != 0) {
        wait_until([&] { return owned.load(); });
      }
      for (int n = 0; n < 50; ++n) {
        lock.lock();
        ++counter;
        lock.unlock();
        owned = true;
      }
    });
    ASSERT_EQ(counter, 150);
    ASSERT_LE(revocations.exchange(0), 1);
  }
}

}  // namespace
