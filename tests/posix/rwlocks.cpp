// Reader-writer locks. LOCKWRIGHT_TEST_RWLOCK says what is promised beyond POSIX, or less:
// `exclusive` that readers exclude each other, `phase-fair` that readers and writers alternate.
#include <sys/mman.h>
#include <sys/wait.h>
#include <array>
#include <chrono>
#include <mutex>
#include <shared_mutex>

#include "../support/check.hpp"

namespace {

enum class Promise : std::uint8_t { none, exclusive, phase_fair };

Promise promised() {
  const char* text = std::getenv("LOCKWRIGHT_TEST_RWLOCK");
  if (text == nullptr) return Promise::none;
  const std::string word = text;
  CHECK(word == "exclusive" || word == "phase-fair");
  return word == "exclusive" ? Promise::exclusive : Promise::phase_fair;
}

constexpr int kinds[] = {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                         PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};

void init(pthread_rwlock_t* lock, int kind, int shared = PTHREAD_PROCESS_PRIVATE) {
  pthread_rwlockattr_t attributes;
  OK(pthread_rwlockattr_init(&attributes));
  OK(pthread_rwlockattr_setkind_np(&attributes, kind));
  OK(pthread_rwlockattr_setpshared(&attributes, shared));
  OK(pthread_rwlock_init(lock, &attributes));
  OK(pthread_rwlockattr_destroy(&attributes));
}

/// What another thread gets from a call.
template <class Call>
int elsewhere(Call call) {
  int result = -1;
  check::Worker([&](check::Worker&) { result = call(); }).join();
  return result;
}

int try_read_elsewhere(pthread_rwlock_t* lock) {
  return elsewhere([lock] {
    const int result = pthread_rwlock_tryrdlock(lock);
    if (result == 0) OK(pthread_rwlock_unlock(lock));
    return result;
  });
}

int try_write_elsewhere(pthread_rwlock_t* lock) {
  return elsewhere([lock] {
    const int result = pthread_rwlock_trywrlock(lock);
    if (result == 0) OK(pthread_rwlock_unlock(lock));
    return result;
  });
}

void check_free(pthread_rwlock_t* lock) { CHECK_RC(0, try_write_elsewhere(lock)); }

/// A thread that takes the lock, says so, and gives it back when it is told to.
class Holder {
 public:
  enum Way : std::uint8_t { reads, writes };
  Holder(pthread_rwlock_t* lock, Way way)
      : worker_([this, lock, way](check::Worker& self) {
          self.about_to_block();
          OK(way == reads ? pthread_rwlock_rdlock(lock) : pthread_rwlock_wrlock(lock));
          inside_.store(true);
          check::wait_until([this] { return told_.load(); });
          OK(pthread_rwlock_unlock(lock));
        }) {}
  [[nodiscard]] bool inside() const { return inside_.load(); }
  void wait_until_inside() {
    check::wait_until([this] { return inside(); });
  }
  void wait_until_blocked() {
    worker_.wait_until_blocked();
    CHECK(!inside());
  }
  void tell_to_leave() { told_.store(true); }
  void leave() {
    tell_to_leave();
    worker_.join();
  }

 private:
  std::atomic<bool> inside_{false};
  std::atomic<bool> told_{false};
  check::Worker worker_;
};

/// Takes the lock in one of the ways that there are; false if it did not.
bool take(pthread_rwlock_t* lock, bool to_write, check::Random& random) {
  const timespec soon = check::after_ms(CLOCK_REALTIME, random.below(2));
  const timespec late = check::after_ms(CLOCK_MONOTONIC, 600'000);
  int result = 0;
  switch (random.below(5)) {
    case 0:
      result = to_write ? pthread_rwlock_trywrlock(lock) : pthread_rwlock_tryrdlock(lock);
      CHECK(result == 0 || result == EBUSY);
      break;
    case 1:
      result = to_write ? pthread_rwlock_timedwrlock(lock, &soon)
                        : pthread_rwlock_timedrdlock(lock, &soon);
      CHECK(result == 0 || result == ETIMEDOUT);
      break;
    case 2:
      OK(to_write ? pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &late)
                  : pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &late));
      break;
    default:
      OK(to_write ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock));
  }
  return result == 0;
}

std::string exclusion_with(pthread_rwlock_t* lock, int threads) {
  volatile long first = 0;
  volatile long second = 0;
  std::atomic<int> readers{0};
  std::atomic<int> writers{0};
  std::atomic<long> changes{0};
  std::atomic<long> looks{0};
  const check::Budget budget{150};
  check::in_parallel(threads, [&](int i) {
    check::Random random{static_cast<std::uint64_t>(i) + 17};
    do {
      const bool to_write = random.below(3) == 0;
      if (!take(lock, to_write, random)) continue;
      if (to_write) {
        CHECK_EQ(0, writers.fetch_add(1));
        CHECK_EQ(0, readers.load());
        const long seen = first;
        CHECK_EQ(seen, second);
        first = seen + 1;
        if (random.below(8) == 0) sched_yield();
        second = seen + 1;
        ++changes;
        writers.fetch_sub(1);
      } else {
        const int others = readers.fetch_add(1);
        if (promised() == Promise::exclusive) CHECK_EQ(0, others);
        CHECK_EQ(0, writers.load());
        const long seen = first;
        if (random.below(8) == 0) sched_yield();
        CHECK_EQ(seen, second);
        ++looks;
        readers.fetch_sub(1);
      }
      OK(pthread_rwlock_unlock(lock));
    } while (!budget.spent());
  });
  CHECK_EQ(changes.load(), first);
  CHECK(changes.load() != 0 && looks.load() != 0);
  check_free(lock);
  return "changes=" + std::to_string(changes.load()) + " looks=" + std::to_string(looks.load());
}

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

/// Reads again in every way; the lock is read by the caller already.
void read_again(pthread_rwlock_t* lock) {
  const timespec late = check::after_ms(CLOCK_MONOTONIC, 600'000);
  OK(pthread_rwlock_rdlock(lock));
  OK(pthread_rwlock_tryrdlock(lock));
  OK(pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &late));
  for (int i = 0; i < 3; ++i) OK(pthread_rwlock_unlock(lock));
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

// More locks than any table of a thread holds, given back in another order; each awaited by a writer.
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

int timed(pthread_rwlock_t* lock, bool to_write, clockid_t clock, const timespec& deadline) {
  return to_write ? pthread_rwlock_clockwrlock(lock, clock, &deadline)
                  : pthread_rwlock_clockrdlock(lock, clock, &deadline);
}

std::string deadlines() {
  const timespec past{1, 0};
  const timespec before_all{-1, 0};
  const timespec invalid{1, 1'000'000'000};
  const timespec negative{1, -1};
  for (const int kind : kinds) {
    pthread_rwlock_t lock;
    init(&lock, kind);
    for (const bool to_write : {false, true}) {
      for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
        // Free: there is nothing to wait for, but what is no time is refused.
        OK(timed(&lock, to_write, clock, past));
        OK(pthread_rwlock_unlock(&lock));
        CHECK_RC(EINVAL, timed(&lock, to_write, clock, invalid));
        CHECK_RC(EINVAL, timed(&lock, to_write, clock, negative));
        // Held by a writer, and for a writer also by a reader.
        for (const Holder::Way way : {Holder::writes, Holder::reads}) {
          if (way == Holder::reads && !to_write) continue;
          Holder holder(&lock, way);
          holder.wait_until_inside();
          CHECK_RC(ETIMEDOUT, timed(&lock, to_write, clock, past));
          CHECK_RC(ETIMEDOUT, timed(&lock, to_write, clock, before_all));
          CHECK_RC(EINVAL, timed(&lock, to_write, clock, invalid));
          const timespec soon = check::after_ms(clock, 5);
          CHECK_RC(ETIMEDOUT, timed(&lock, to_write, clock, soon));
          CHECK(check::nanoseconds(clock) >=
                soon.tv_sec * std::int64_t{1'000'000'000} + soon.tv_nsec);
          holder.leave();
        }
        // In time.
        Holder holder(&lock, Holder::writes);
        holder.wait_until_inside();
        check::Worker waiter([&](check::Worker& self) {
          const timespec late = check::after_ms(clock, 600'000);
          self.about_to_block();
          OK(timed(&lock, to_write, clock, late));
          OK(pthread_rwlock_unlock(&lock));
        });
        waiter.wait_until_blocked();
        holder.leave();
        waiter.join();
        check_free(&lock);
      }
      CHECK_RC(EINVAL, timed(&lock, to_write, CLOCK_THREAD_CPUTIME_ID, past));
    }
    OK(pthread_rwlock_wrlock(&lock));
    CHECK_RC(ETIMEDOUT, elsewhere([&] { return pthread_rwlock_timedrdlock(&lock, &past); }));
    CHECK_RC(ETIMEDOUT, elsewhere([&] { return pthread_rwlock_timedwrlock(&lock, &past); }));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_destroy(&lock));
  }
  return "";
}

// A writer that gives up lets those in who waited behind it, also beside readers that were let in
// while it waited, and does so again and again.
std::string a_writer_gives_up() {
  if (promised() == Promise::exclusive) return "(readers exclude each other)";
  for (const int kind : kinds) {
    pthread_rwlock_t lock;
    init(&lock, kind);
    for (int round = 0; round < 5; ++round) {
      Holder first(&lock, Holder::reads);
      first.wait_until_inside();
      check::Worker writer([&](check::Worker& self) {
        const timespec soon = check::after_ms(CLOCK_MONOTONIC, 30);
        self.about_to_block();
        CHECK_RC(ETIMEDOUT, pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &soon));
      });
      writer.wait_until_blocked();
      Holder second(&lock, Holder::reads);
      Holder third(&lock, Holder::reads);
      second.wait_until_inside();
      third.wait_until_inside();
      CHECK(first.inside());
      writer.join();
      second.leave();
      first.leave();
      third.leave();
      check_free(&lock);
    }
    OK(pthread_rwlock_destroy(&lock));
  }
  return "";
}

// Short deadlines, so that giving up meets being let in.
std::string giving_up_and_getting_in() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  std::atomic<long> given_up{0};
  volatile long changes = 0;
  std::atomic<long> expected{0};
  const check::Budget budget{300};
  check::in_parallel(6, [&](int i) {
    check::Random random{static_cast<std::uint64_t>(i) + 5};
    do {
      const bool to_write = random.below(2) == 0;
      const timespec soon = check::to_timespec(check::nanoseconds(CLOCK_MONOTONIC) +
                                               static_cast<std::int64_t>(random.below(60'000)));
      if (timed(&lock, to_write, CLOCK_MONOTONIC, soon) != 0) {
        ++given_up;
        continue;
      }
      if (to_write) {
        changes = changes + 1;
        ++expected;
      }
      if (random.below(4) == 0) check::sleep_us(20);
      OK(pthread_rwlock_unlock(&lock));
    } while (!budget.spent());
  });
  CHECK_EQ(expected.load(), changes);
  CHECK(given_up.load() != 0);
  check_free(&lock);
  OK(pthread_rwlock_destroy(&lock));
  return "given up=" + std::to_string(given_up.load());
}

// Under the kind that says so, a waiting writer comes before readers, and keeps them out.
void check_writers_come_first(pthread_rwlock_t* lock) {
  if (promised() == Promise::exclusive) return;
  Holder reader(lock, Holder::reads);
  reader.wait_until_inside();
  Holder writer(lock, Holder::writes);
  writer.wait_until_blocked();
  CHECK_RC(EBUSY, try_read_elsewhere(lock));
  Holder late_reader(lock, Holder::reads);
  late_reader.wait_until_blocked();
  Holder late_writer(lock, Holder::writes);
  late_writer.wait_until_blocked();
  reader.leave();
  writer.wait_until_inside();
  // The one behind is next in line only once it has seen that this one is inside.
  check::sleep_ms(20);
  CHECK(!late_reader.inside());
  writer.leave();
  late_writer.wait_until_inside();
  CHECK(!late_reader.inside());
  late_writer.leave();
  late_reader.wait_until_inside();
  late_reader.leave();
  check_free(lock);
}

std::string writers_first() {
  pthread_rwlock_t lock;
  init(&lock, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  check_writers_come_first(&lock);
  OK(pthread_rwlock_destroy(&lock));
  pthread_rwlock_t other = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  check_writers_come_first(&other);
  return "";
}

std::string default_kind_prefers_no_writer() {
  if (promised() != Promise::none) return "(other promises)";
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  Holder reader(&lock, Holder::reads);
  reader.wait_until_inside();
  Holder writer(&lock, Holder::writes);
  writer.wait_until_blocked();
  OK(try_read_elsewhere(&lock));
  reader.leave();
  writer.leave();
  return "";
}

// Readers and writers alternate: neither waits for more than one phase of the others.
std::string phases() {
  if (promised() != Promise::phase_fair) return "(not promised)";
  for (const int kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP}) {
    pthread_rwlock_t lock;
    init(&lock, kind);
    for (int round = 0; round < 20; ++round) {
      Holder reader(&lock, Holder::reads);
      reader.wait_until_inside();
      Holder writer(&lock, Holder::writes);
      writer.wait_until_blocked();
      // No reader that comes now is let in before the writer.
      CHECK_RC(EBUSY, try_read_elsewhere(&lock));
      Holder second(&lock, Holder::reads);
      second.wait_until_blocked();
      Holder third(&lock, Holder::reads);
      third.wait_until_blocked();
      reader.leave();
      writer.wait_until_inside();
      Holder next(&lock, Holder::writes);
      next.wait_until_blocked();
      CHECK(!second.inside() && !third.inside());
      writer.leave();
      // All readers that waited are let in, together, and before the next writer.
      second.wait_until_inside();
      third.wait_until_inside();
      CHECK(!next.inside());
      second.leave();
      CHECK(!next.inside());
      third.leave();
      next.wait_until_inside();
      next.leave();
      check_free(&lock);
    }
    OK(pthread_rwlock_destroy(&lock));
  }
  return "";
}

// While somebody always reads, a writer gets in; while somebody always writes, a reader does.
std::string nobody_starves() {
  if (promised() != Promise::phase_fair) return "(not promised)";
  for (const bool many_write : {false, true}) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    std::atomic<bool> over{false};
    std::atomic<int> inside{0};
    std::vector<std::unique_ptr<check::Worker>> many;
    for (int i = 0; i < 3; ++i)
      many.push_back(std::make_unique<check::Worker>([&, i](check::Worker&) {
        check::Random random{static_cast<std::uint64_t>(i) + 3};
        while (!over.load()) {
          OK(many_write ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock));
          ++inside;
          // A reader leaves only when another one is inside, or waits for the lone writer.
          check::sleep_us(random.below(200));
          --inside;
          OK(pthread_rwlock_unlock(&lock));
        }
      }));
    for (int i = 0; i < 100; ++i) {
      OK(many_write ? pthread_rwlock_rdlock(&lock) : pthread_rwlock_wrlock(&lock));
      CHECK_EQ(0, inside.load());
      OK(pthread_rwlock_unlock(&lock));
    }
    over = true;
    many.clear();
    check_free(&lock);
    OK(pthread_rwlock_destroy(&lock));
  }
  return "";
}

std::string used_again() {
  alignas(pthread_rwlock_t) unsigned char room[sizeof(pthread_rwlock_t)];
  auto* lock = reinterpret_cast<pthread_rwlock_t*>(room);
  for (int round = 0; round < 200; ++round) {
    std::memset(room, round % 2 == 0 ? 0xff : 0xa5, sizeof room);
    init(lock, kinds[round % 3]);
    OK(pthread_rwlock_wrlock(lock));
    OK(pthread_rwlock_unlock(lock));
    OK(pthread_rwlock_rdlock(lock));
    OK(pthread_rwlock_unlock(lock));
    OK(pthread_rwlock_destroy(lock));
    // Zeroed memory is a lock as the static initialiser makes it.
    std::memset(room, 0, sizeof room);
    OK(pthread_rwlock_rdlock(lock));
    CHECK_RC(EBUSY, try_write_elsewhere(lock));
    OK(pthread_rwlock_unlock(lock));
    OK(pthread_rwlock_destroy(lock));
  }
  return "";
}

// The last user may destroy the lock as soon as it has it for itself.
std::string freed_by_the_last_user() {
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
  return "";
}

std::string static_initialisers() {
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
  return "";
}

/// Runs `body` in a child, which has to end well.
template <class Body>
void in_child(Body body) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(60);
    body();
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_EQ(0, status);
}

// The caller holds it and others wait: the child unlocks and uses it.
void fork_while_held(pthread_rwlock_t* lock, bool to_write) {
  OK(to_write ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock));
  Holder writer(lock, Holder::writes);
  writer.wait_until_blocked();
  Holder reader(lock, Holder::reads);
  reader.wait_until_blocked();
  in_child([&] {
    CHECK_RC(EBUSY, try_write_elsewhere(lock));
    if (to_write) CHECK_RC(EDEADLK, pthread_rwlock_wrlock(lock));
    if (!to_write) read_again(lock);
    OK(pthread_rwlock_unlock(lock));
    check_free(lock);
    exclusion_with(lock, 3);
    in_child([&] { check_free(lock); });
  });
  OK(pthread_rwlock_unlock(lock));
  writer.tell_to_leave();
  reader.tell_to_leave();
  writer.leave();
  reader.leave();
  check_free(lock);
}

std::string forks() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int round = 0; round < 10; ++round) {
    // In the C library the waiters of the parent, and its writer, are in the child's way.
    if (promised() != Promise::none) {
      fork_while_held(&lock, true);
      fork_while_held(&lock, false);
    }
    OK(pthread_rwlock_rdlock(&lock));
    in_child([&] {
      CHECK_RC(EBUSY, try_write_elsewhere(&lock));
      OK(pthread_rwlock_unlock(&lock));
      check_free(&lock);
    });
    OK(pthread_rwlock_unlock(&lock));
    in_child([&] {
      OK(pthread_rwlock_rdlock(&lock));
      OK(pthread_rwlock_unlock(&lock));
      check_free(&lock);
    });
    // Held by a thread that the child does not have.
    Holder other(&lock, Holder::writes);
    other.wait_until_inside();
    in_child([&] {
      CHECK_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
      CHECK_RC(EBUSY, pthread_rwlock_tryrdlock(&lock));
    });
    other.leave();
  }
  return "";
}

std::string between_processes() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  auto* lock = static_cast<pthread_rwlock_t*>(page);
  auto* count = reinterpret_cast<volatile int*>(static_cast<char*>(page) + 1024);
  for (const int kind : kinds) {
    *count = 0;
    init(lock, kind, PTHREAD_PROCESS_SHARED);
    constexpr int turns = 2'000;
    const auto work = [&] {
      for (int i = 0; i < turns; ++i) {
        OK(pthread_rwlock_wrlock(lock));
        *count = *count + 1;
        OK(pthread_rwlock_unlock(lock));
        OK(pthread_rwlock_rdlock(lock));
        CHECK(*count >= i);
        OK(pthread_rwlock_unlock(lock));
      }
    };
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      alarm(60);
      work();
      _exit(0);
    }
    work();
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(0, status);
    CHECK_EQ(2 * turns, *count);
    OK(pthread_rwlock_destroy(lock));
  }
  munmap(page, 4096);
  return "";
}

std::string of_cpp() {
  using namespace std::chrono_literals;
  std::shared_mutex mutex;
  std::shared_timed_mutex timed_mutex;
  long count = 0;
  long timed_count = 0;
  check::in_parallel(4, [&](int i) {
    for (int round = 0; round < 500; ++round) {
      if ((i + round) % 2 == 0) {
        const std::unique_lock lock(mutex);
        ++count;
        const std::unique_lock other(timed_mutex, std::chrono::steady_clock::now() + 600s);
        CHECK(other.owns_lock());
        ++timed_count;
      } else {
        const std::shared_lock lock(mutex);
        const std::shared_lock other(timed_mutex, 600s);
        CHECK(other.owns_lock());
        CHECK_EQ(count, timed_count);
      }
    }
  });
  CHECK_EQ(1'000, count);
  const std::unique_lock lock(timed_mutex);
  CHECK_RC(1, elsewhere([&] {
             return !timed_mutex.try_lock_for(1ms) && !timed_mutex.try_lock_shared_for(1ms) &&
                            !timed_mutex.try_lock() && !timed_mutex.try_lock_shared()
                        ? 1
                        : 0;
           }));
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  return check::run(argc, argv,
                    {{"exclusion", exclusion},
                     {"exclusion on one cpu", exclusion_on_one_cpu},
                     {"readers together", readers_together},
                     {"recursive reads", recursive_reads},
                     {"recursive reads of many", recursive_reads_of_many},
                     {"tries", tries},
                     {"the writer again", the_writer_again},
                     {"deadlines", deadlines},
                     {"a writer gives up", a_writer_gives_up},
                     {"giving up and getting in", giving_up_and_getting_in},
                     {"writers first", writers_first},
                     {"default kind prefers no writer", default_kind_prefers_no_writer},
                     {"phases", phases},
                     {"nobody starves", nobody_starves},
                     {"used again", used_again},
                     {"freed by the last user", freed_by_the_last_user},
                     {"static initialisers", static_initialisers},
                     {"forks", forks},
                     {"between processes", between_processes},
                     {"of C++", of_cpp}});
}
