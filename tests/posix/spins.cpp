// Spin locks: the C library's, or Lockwright's if LOCKWRIGHT_TEST_SPIN is set.
#include <sys/mman.h>
#include <sys/wait.h>

#include "../support/children.hpp"

namespace {

std::string exclusion_with(pthread_spinlock_t* lock) {
  volatile long first = 0;
  volatile long second = 0;
  std::atomic<long> entered{0};
  const check::Budget budget{150};
  check::in_parallel(4, [&](int i) {
    check::Random random{static_cast<std::uint64_t>(i) + 11};
    do {
      if (random.below(3) == 0) {
        const int result = pthread_spin_trylock(lock);
        CHECK(result == 0 || result == EBUSY);
        if (result != 0) continue;
      } else {
        OK(pthread_spin_lock(lock));
      }
      const long value = first;
      CHECK_EQ(value, second);
      first = value + 1;
      if (random.below(64) == 0) sched_yield();
      second = value + 1;
      OK(pthread_spin_unlock(lock));
      ++entered;
    } while (!budget.spent());
  });
  CHECK_EQ(entered.load(), first);
  return "entered=" + std::to_string(entered.load());
}

CASE("exclusion") {
  pthread_spinlock_t lock;
  OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
  const std::string details = exclusion_with(&lock);
  OK(pthread_spin_destroy(&lock));
  return details;
};

CASE("tries") {
  pthread_spinlock_t lock;
  for (int round = 0; round < 100; ++round) {
    std::memset(const_cast<int*>(&lock), round % 2 == 0 ? 0xff : 0xa5, sizeof lock);
    OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_spin_trylock(&lock));
    CHECK_RC(EBUSY, pthread_spin_trylock(&lock));
    OK(pthread_spin_unlock(&lock));
    OK(pthread_spin_lock(&lock));
    CHECK_RC(EBUSY, pthread_spin_trylock(&lock));
    OK(pthread_spin_unlock(&lock));
    OK(pthread_spin_destroy(&lock));
  }
};

// The words before and after the lock stay unchanged.
CASE("four bytes") {
  struct {
    std::uint32_t before = 0x12345678;
    pthread_spinlock_t lock;
    std::uint32_t after = 0x9abcdef0;
  } words;
  OK(pthread_spin_init(&words.lock, PTHREAD_PROCESS_PRIVATE));
  exclusion_with(&words.lock);
  OK(pthread_spin_destroy(&words.lock));
  CHECK_EQ(0x12345678, words.before);
  CHECK_EQ(0x9abcdef0, words.after);
};

// An initialised lock has the C library's value, unless Lockwright implements it.
CASE("implementation") {
  pthread_spinlock_t unshared;
  pthread_spinlock_t shared;
  OK(pthread_spin_init(&unshared, PTHREAD_PROCESS_PRIVATE));
  OK(pthread_spin_init(&shared, PTHREAD_PROCESS_SHARED));
  CHECK(shared == 0 || shared == 1);
  CHECK_EQ(std::getenv("LOCKWRIGHT_TEST_SPIN") != nullptr, unshared != shared);
  OK(pthread_spin_destroy(&unshared));
  OK(pthread_spin_destroy(&shared));
};

CASE("between processes") {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  auto* lock = static_cast<pthread_spinlock_t*>(page);
  auto* count = reinterpret_cast<volatile int*>(static_cast<char*>(page) + 1024);
  auto* ready = new (static_cast<char*>(page) + 2048) std::atomic<int>{0};
  OK(pthread_spin_init(lock, PTHREAD_PROCESS_SHARED));
  constexpr int rounds = 3'000;
  const auto work = [&] {
    ++*ready;
    check::wait_until([&] { return ready->load() == 2; });
    for (int i = 0; i < rounds; ++i) {
      OK(pthread_spin_lock(lock));
      const int value = *count;
      if (i % 16 == 0) sched_yield();
      *count = value + 1;
      OK(pthread_spin_unlock(lock));
    }
  };
  OK(pthread_spin_lock(lock));
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(60);
    ready->store(-1);
    OK(pthread_spin_lock(lock));
    CHECK_EQ(-2, ready->load());  // the parent has released it
    ready->store(0);
    OK(pthread_spin_unlock(lock));
    work();
    _exit(0);
  }
  check::wait_until([&] { return ready->load() == -1; });
  check::sleep_ms(30);
  ready->store(-2);
  OK(pthread_spin_unlock(lock));
  int status = 0;
  check::wait_until(
      [&] { return ready->load() >= 0 || waitpid(child, &status, WNOHANG) == child; });
  CHECK(ready->load() >= 0);  // or else the child has ended early, and printed why
  work();
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_EQ(0, status);
  CHECK_EQ(2 * rounds, *count);
  OK(pthread_spin_destroy(lock));
  munmap(page, 4096);
};

CASE("forks") {
  pthread_spinlock_t lock;
  OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
  OK(pthread_spin_lock(&lock));
  check::Worker waiter([&](check::Worker& self) {
    self.about_to_block();
    OK(pthread_spin_lock(&lock));
    OK(pthread_spin_unlock(&lock));
  });
  waiter.wait_until_blocked();
  check::in_child([&] {
    alarm(60);
    CHECK_RC(EBUSY, pthread_spin_trylock(&lock));
    OK(pthread_spin_unlock(&lock));
    exclusion_with(&lock);
  });
  OK(pthread_spin_unlock(&lock));
  waiter.join();
  OK(pthread_spin_destroy(&lock));
};

}  // namespace
