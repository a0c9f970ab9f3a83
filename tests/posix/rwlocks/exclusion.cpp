// Exclusion among readers and writers, and recursive acquisitions.
#include <array>

#include "common.hpp"

namespace rwlocks {

CASE("exclusion") {
  std::string details;
  for (const int kind : kinds) {
    pthread_rwlock_t lock;
    init(&lock, kind);
    details = exclusion_with(&lock, 6);
    OK(pthread_rwlock_destroy(&lock));
  }
  return details;
};

CASE("exclusion on one cpu") {
  const check::Confined confined(1);
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  return exclusion_with(&lock, 8);
};

CASE("readers together") {
  constexpr int readers = 6;
  for (const int kind : kinds) {
    pthread_rwlock_t lock;
    init(&lock, kind);
    if (guarantee() == Guarantee::exclusive) {
      OK(pthread_rwlock_rdlock(&lock));
      CHECK_RC(EBUSY, try_read_in_thread(&lock));
      OK(pthread_rwlock_unlock(&lock));
    } else {
      std::atomic<int> inside{0};
      check::in_parallel(readers, [&](int) {
        OK(pthread_rwlock_rdlock(&lock));
        ++inside;
        check::wait_until([&] { return inside.load() == readers; });
        OK(pthread_rwlock_unlock(&lock));
      });
    }
    check_free(&lock);
    OK(pthread_rwlock_destroy(&lock));
  }
};

CASE("recursive reads") {
  for (const int kind : kinds) {
    pthread_rwlock_t lock;
    init(&lock, kind);
    OK(pthread_rwlock_rdlock(&lock));
    read_again(&lock);
    if (kind != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) {
      Holder writer(&lock, Holder::writes);
      writer.wait_until_blocked();
      read_again(&lock);
      CHECK_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
      CHECK(!writer.inside());
      OK(pthread_rwlock_unlock(&lock));
      writer.wait_until_inside();
      writer.leave();
    } else {
      CHECK_RC(EBUSY, try_write_in_thread(&lock));
      OK(pthread_rwlock_unlock(&lock));
    }
    check_free(&lock);
    OK(pthread_rwlock_destroy(&lock));
  }
};

// More locks than a thread's table has entries, released in another order; a writer waits for each.
CASE("recursive reads of many") {
  constexpr int many = 20;
  std::array<pthread_rwlock_t, many> locks;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<Holder>> writers;
    for (pthread_rwlock_t& lock : locks) {
      OK(pthread_rwlock_init(&lock, nullptr));
      OK(pthread_rwlock_rdlock(&lock));
      writers.push_back(std::make_unique<Holder>(&lock, Holder::writes));
      writers.back()->wait_until_blocked();
    }
    for (int i = 0; i < many; ++i) read_again(&locks[static_cast<std::size_t>(i * 7 % many)]);
    for (int i = 0; i < many; ++i) {
      const auto index = static_cast<std::size_t>(i * 3 % many);
      OK(pthread_rwlock_unlock(&locks[index]));
      writers[index]->leave();
      check_free(&locks[index]);
      OK(pthread_rwlock_destroy(&locks[index]));
    }
  }
};

CASE("tries") {
  for (const int kind : kinds) {
    pthread_rwlock_t lock;
    init(&lock, kind);
    OK(pthread_rwlock_tryrdlock(&lock));
    CHECK_RC(EBUSY, try_write_in_thread(&lock));
    CHECK_RC(guarantee() == Guarantee::exclusive ? EBUSY : 0, try_read_in_thread(&lock));
    CHECK_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_trywrlock(&lock));
    CHECK_RC(EBUSY, try_write_in_thread(&lock));
    CHECK_RC(EBUSY, try_read_in_thread(&lock));
    CHECK_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
    CHECK_RC(EBUSY, pthread_rwlock_tryrdlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    check_free(&lock);
    OK(pthread_rwlock_destroy(&lock));
  }
};

CASE("writer relocks") {
  for (const int kind : kinds) {
    pthread_rwlock_t lock;
    init(&lock, kind);
    const timespec late = check::after_ms(CLOCK_REALTIME, 600'000);
    const timespec late_monotonic = check::after_ms(CLOCK_MONOTONIC, 600'000);
    OK(pthread_rwlock_wrlock(&lock));
    CHECK_RC(EDEADLK, pthread_rwlock_wrlock(&lock));
    CHECK_RC(EDEADLK, pthread_rwlock_rdlock(&lock));
    CHECK_RC(EDEADLK, pthread_rwlock_timedwrlock(&lock, &late));
    CHECK_RC(EDEADLK, pthread_rwlock_timedrdlock(&lock, &late));
    CHECK_RC(EDEADLK, pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &late_monotonic));
    CHECK_RC(EDEADLK, pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &late_monotonic));
    CHECK_RC(EBUSY, try_read_in_thread(&lock));
    OK(pthread_rwlock_unlock(&lock));
    check_free(&lock);
    OK(pthread_rwlock_destroy(&lock));
  }
};

}  // namespace rwlocks
