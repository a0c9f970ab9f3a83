// Locks that are initialised, shared, inherited by a child and reused, and the classes of C++.
#include <sys/mman.h>

#include <optional>

#include "../../support/children.hpp"
#include "common.hpp"

namespace rwlocks {

CASE("reused memory") {
  alignas(pthread_rwlock_t) unsigned char memory[sizeof(pthread_rwlock_t)];
  auto* lock = reinterpret_cast<pthread_rwlock_t*>(memory);
  for (int round = 0; round < 200; ++round) {
    std::memset(memory, round % 2 == 0 ? 0xff : 0xa5, sizeof memory);
    init(lock, kinds[round % 3]);
    OK(pthread_rwlock_wrlock(lock));
    OK(pthread_rwlock_unlock(lock));
    OK(pthread_rwlock_rdlock(lock));
    OK(pthread_rwlock_unlock(lock));
    OK(pthread_rwlock_destroy(lock));
    // Zeroed memory equals a statically initialised lock.
    std::memset(memory, 0, sizeof memory);
    OK(pthread_rwlock_rdlock(lock));
    CHECK_RC(EBUSY, try_write_in_thread(lock));
    OK(pthread_rwlock_unlock(lock));
    OK(pthread_rwlock_destroy(lock));
  }
};

// The last user may destroy the lock as soon as it holds it.
CASE("freed by the last user") {
  constexpr int threads = 4;
  for (int round = 0; round < 300; ++round) {
    auto* lock = new pthread_rwlock_t;
    OK(pthread_rwlock_init(lock, nullptr));
    int users = threads;
    check::in_parallel(threads, [&](int i) {
      if ((i + round) % 2 == 0) {
        OK(pthread_rwlock_rdlock(lock));
        OK(pthread_rwlock_unlock(lock));
      }
      OK(pthread_rwlock_wrlock(lock));
      const bool last = --users == 0;
      OK(pthread_rwlock_unlock(lock));
      if (last) {
        OK(pthread_rwlock_destroy(lock));
        std::memset(static_cast<void*>(lock), 0xdd, sizeof *lock);
        delete lock;
      }
    });
  }
};

CASE("static initialisers") {
  for (int round = 0; round < 100; ++round) {
    pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER;
    pthread_rwlock_t nonrecursive = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    for (pthread_rwlock_t* lock : {&plain, &nonrecursive}) {
      volatile int count = 0;
      check::in_parallel(4, [&](int i) {
        OK(i % 2 == 0 ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock));
        if (i % 2 == 0) count = count + 1;
        OK(pthread_rwlock_unlock(lock));
      });
      CHECK_EQ(2, count);
      OK(pthread_rwlock_destroy(lock));
    }
  }
};

namespace {

/// Runs `body` in a child, which has to end with status 0 within a minute.
template <class Body>
void in_child(Body body) {
  check::in_child([&] {
    alarm(60);
    body();
  });
}

// The caller holds the lock and others wait: the child unlocks and uses it.
void fork_while_held(pthread_rwlock_t* lock, bool to_write) {
  OK(to_write ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock));
  Holder writer(lock, Holder::writes);
  writer.wait_until_blocked();
  std::optional<Holder> reader;
  if (to_write || guarantee() != Guarantee::readers) {
    // Some locks let readers pass a waiting writer for a short time.
    check::wait_until([lock] { return try_read_in_thread(lock) == EBUSY; });
    reader.emplace(lock, Holder::reads);
    reader->wait_until_blocked();
  }
  in_child([&] {
    CHECK_RC(EBUSY, try_write_in_thread(lock));
    if (to_write) CHECK_RC(EDEADLK, pthread_rwlock_wrlock(lock));
    if (!to_write) read_again(lock);
    OK(pthread_rwlock_unlock(lock));
    check_free(lock);
    exclusion_with(lock, 3);
    in_child([&] { check_free(lock); });
  });
  OK(pthread_rwlock_unlock(lock));
  writer.let_leave();
  if (reader) reader->let_leave();
  writer.leave();
  if (reader) reader->leave();
  check_free(lock);
}

}  // namespace

CASE("forks") {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int round = 0; round < 10; ++round) {
    // In the C library the parent's waiters, and its writer, block the child.
    if (guarantee() != Guarantee::none) {
      fork_while_held(&lock, true);
      fork_while_held(&lock, false);
    }
    OK(pthread_rwlock_rdlock(&lock));
    in_child([&] {
      CHECK_RC(EBUSY, try_write_in_thread(&lock));
      OK(pthread_rwlock_unlock(&lock));
      check_free(&lock);
    });
    OK(pthread_rwlock_unlock(&lock));
    in_child([&] {
      OK(pthread_rwlock_rdlock(&lock));
      OK(pthread_rwlock_unlock(&lock));
      check_free(&lock);
    });
    // Held by a thread that does not exist in the child.
    Holder other(&lock, Holder::writes);
    other.wait_until_inside();
    in_child([&] {
      CHECK_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
      CHECK_RC(EBUSY, pthread_rwlock_tryrdlock(&lock));
    });
    other.leave();
  }
};

CASE("between processes") {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  auto* lock = static_cast<pthread_rwlock_t*>(page);
  auto* count = reinterpret_cast<volatile int*>(static_cast<char*>(page) + 1024);
  for (const int kind : kinds) {
    *count = 0;
    init(lock, kind, PTHREAD_PROCESS_SHARED);
    constexpr int rounds = 2'000;
    const auto work = [&] {
      for (int i = 0; i < rounds; ++i) {
        OK(pthread_rwlock_wrlock(lock));
        *count = *count + 1;
        OK(pthread_rwlock_unlock(lock));
        OK(pthread_rwlock_rdlock(lock));
        CHECK(*count >= i);
        OK(pthread_rwlock_unlock(lock));
      }
    };
    const pid_t child = check::start_child([&] {
      alarm(60);
      work();
    });
    work();
    check::await_child(child);
    CHECK_EQ(2 * rounds, *count);
    OK(pthread_rwlock_destroy(lock));
  }
  munmap(page, 4096);
};

}  // namespace rwlocks
