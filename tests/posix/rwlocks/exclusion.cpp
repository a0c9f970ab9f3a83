// Which threads are inside together, and which may enter again.
#include <array>

#include "common.hpp"
#include "parts.hpp"

namespace rwlocks {

std::string exclusion() {
  std::string said;
  for (const int kind : kinds) {
    pthread_rwlock_t lock;
    init(&lock, kind);
    said = exclusion_with(&lock, 6);
    OK(pthread_rwlock_destroy(&lock));
  }
  return said;
}

std::string exclusion_on_one_cpu() {
  const check::Confined few(1);
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  return exclusion_with(&lock, 8);
}

std::string readers_together() {
  constexpr int readers = 6;
  for (const int kind : kinds) {
    pthread_rwlock_t lock;
    init(&lock, kind);
    if (promised() == Promise::exclusive) {
      OK(pthread_rwlock_rdlock(&lock));
      CHECK_RC(EBUSY, try_read_elsewhere(&lock));
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
  return "";
}

std::string recursive_reads() {
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
      CHECK_RC(EBUSY, try_write_elsewhere(&lock));
      OK(pthread_rwlock_unlock(&lock));
    }
    check_free(&lock);
    OK(pthread_rwlock_destroy(&lock));
  }
  return "";
}

// More locks than any table of a thread holds, given back in another order; each awaited by a
// writer.
std::string recursive_reads_of_many() {
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
      const auto at = static_cast<std::size_t>(i * 3 % many);
      OK(pthread_rwlock_unlock(&locks[at]));
      writers[at]->leave();
      check_free(&locks[at]);
      OK(pthread_rwlock_destroy(&locks[at]));
    }
  }
  return "";
}

std::string tries() {
  for (const int kind : kinds) {
    pthread_rwlock_t lock;
    init(&lock, kind);
    OK(pthread_rwlock_tryrdlock(&lock));
    CHECK_RC(EBUSY, try_write_elsewhere(&lock));
    CHECK_RC(promised() == Promise::exclusive ? EBUSY : 0, try_read_elsewhere(&lock));
    CHECK_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_trywrlock(&lock));
    CHECK_RC(EBUSY, try_write_elsewhere(&lock));
    CHECK_RC(EBUSY, try_read_elsewhere(&lock));
    CHECK_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
    CHECK_RC(EBUSY, pthread_rwlock_tryrdlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    check_free(&lock);
    OK(pthread_rwlock_destroy(&lock));
  }
  return "";
}

std::string the_writer_again() {
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
    CHECK_RC(EBUSY, try_read_elsewhere(&lock));
    OK(pthread_rwlock_unlock(&lock));
    check_free(&lock);
    OK(pthread_rwlock_destroy(&lock));
  }
  return "";
}

}  // namespace rwlocks
