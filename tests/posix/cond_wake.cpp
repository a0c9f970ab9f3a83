// The wake-ups of condition variables: a broadcast wakes all waiters, a signal exactly one, the
// longest waiting first, none is spurious, and the condition variable may be destroyed as soon as
// the broadcast has been sent.
#include "../support/check.hpp"

#include <sys/mman.h>

namespace {

struct Monitor {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
};

// Returns with the mutex held once `count` equals `wanted`.
template <class Count>
void lock_when(pthread_mutex_t* mutex, const Count& count, int wanted) {
  for (;;) {
    OK(pthread_mutex_lock(mutex));
    if (count == wanted) return;
    OK(pthread_mutex_unlock(mutex));
    check::sleep_us(100);
  }
}

// A barrier as some programs write it, without a loop around the wait: it works only without
// spurious wake-ups.
std::string barrier_without_a_loop(int threads, int at_most) {
  Monitor monitor;
  int arrived = 0;
  int generation = 0;
  bool end = false;
  const check::Budget budget{200};
  check::in_parallel(threads, [&](int) {
    bool last = false;
    for (int g = 0; !last; ++g) {
      OK(pthread_mutex_lock(&monitor.mutex));
      CHECK_EQ(g, generation);
      if (++arrived == threads) {
        arrived = 0;
        ++generation;
        end = generation == at_most || budget.spent();
        OK(pthread_cond_broadcast(&monitor.cond));
      } else {
        OK(pthread_cond_wait(&monitor.cond, &monitor.mutex));
      }
      CHECK_EQ(g + 1, generation);
      last = end;  // no thread can begin another round before all have left this one
      OK(pthread_mutex_unlock(&monitor.mutex));
    }
  });
  return "threads " + std::to_string(threads) + " generations " + std::to_string(generation);
}

// No waiter runs while the broadcaster holds the mutex, and while a waiter holds it, at most one
// other has been woken in advance. The library guarantees this, POSIX does not.
CASE("no wake-up while the mutex is held") {
  const char* promised = std::getenv("LOCKWRIGHT_TEST_COND_FIFO");
  if (promised == nullptr || *promised == '\0') return;
  Monitor monitor;
  constexpr int threads = 6;
  int waiting = 0;
  std::atomic<int> inside{0};
  std::atomic<bool> may_leave{false};
  std::vector<std::unique_ptr<check::Worker>> workers;
  for (int i = 0; i < threads; ++i) {
    workers.push_back(std::make_unique<check::Worker>([&](check::Worker& self) {
      OK(pthread_mutex_lock(&monitor.mutex));
      ++waiting;
      self.about_to_block();
      OK(pthread_cond_wait(&monitor.cond, &monitor.mutex));
      inside.fetch_add(1);
      check::wait_until([&] { return may_leave.load(); });
      OK(pthread_mutex_unlock(&monitor.mutex));
    }));
    lock_when(&monitor.mutex, waiting, i + 1);
    OK(pthread_mutex_unlock(&monitor.mutex));
    workers.back()->wait_until_blocked();
  }
  check::sleep_ms(5);  // wait_until_blocked() may return before the thread sleeps
  std::vector<std::int64_t> used;
  for (const auto& worker : workers) used.push_back(worker->cpu_time());
  const auto woken_count = [&] {
    int count = 0;
    for (std::size_t i = 0; i < threads; ++i) count += workers[i]->cpu_time() != used[i] ? 1 : 0;
    return count;
  };
  OK(pthread_mutex_lock(&monitor.mutex));
  OK(pthread_cond_broadcast(&monitor.cond));
  check::sleep_ms(20);
  CHECK_EQ(0, woken_count());
  OK(pthread_mutex_unlock(&monitor.mutex));
  check::wait_until([&] { return inside.load() == 1; });
  check::sleep_ms(20);
  CHECK(woken_count() <= 2);
  may_leave.store(true);
  for (auto& worker : workers) worker->join();
  CHECK_EQ(threads, inside.load());
};

// Waiters arrive in a known order; each signal wakes exactly one. The library under test guarantees
// the order, POSIX does not: it is asserted only if the harness sets the variable.
CASE("one at a time in order") {
  const char* promised = std::getenv("LOCKWRIGHT_TEST_COND_FIFO");
  const bool in_order = promised != nullptr && *promised != '\0';
  Monitor monitor;
  constexpr int threads = 8;
  int waiting = 0;
  std::vector<int> woken;
  std::vector<std::unique_ptr<check::Worker>> workers;
  for (int i = 0; i < threads; ++i) {
    workers.push_back(std::make_unique<check::Worker>([&, i](check::Worker&) {
      OK(pthread_mutex_lock(&monitor.mutex));
      ++waiting;
      OK(pthread_cond_wait(&monitor.cond, &monitor.mutex));
      woken.push_back(i);
      OK(pthread_mutex_unlock(&monitor.mutex));
    }));
    lock_when(&monitor.mutex, waiting, i + 1);
    OK(pthread_mutex_unlock(&monitor.mutex));
  }
  for (std::size_t i = 0; i < threads; ++i) {
    OK(pthread_mutex_lock(&monitor.mutex));
    CHECK_EQ(i, woken.size());
    OK(pthread_cond_signal(&monitor.cond));
    OK(pthread_mutex_unlock(&monitor.mutex));
    check::wait_until_under(&monitor.mutex, [&] { return woken.size() > i; });
    check::sleep_us(300);  // a second thread woken by mistake would have passed
    OK(pthread_mutex_lock(&monitor.mutex));
    CHECK_EQ(i + 1, woken.size());
    if (in_order) CHECK_EQ(i, woken.back());
    OK(pthread_mutex_unlock(&monitor.mutex));
  }
  for (auto& worker : workers) worker->join();
  return in_order ? "in order" : "";
};

// Several signals sent under one hold of the mutex wake as many threads.
CASE("signals add up") {
  Monitor monitor;
  constexpr int threads = 6;
  for (int round = 0; round < 20; ++round) {
    int waiting = 0;
    int allowed = 0;
    int passed = 0;
    check::in_parallel(threads + 1, [&](int i) {
      if (i < threads) {
        OK(pthread_mutex_lock(&monitor.mutex));
        ++waiting;
        while (allowed == 0) OK(pthread_cond_wait(&monitor.cond, &monitor.mutex));
        --allowed;
        ++passed;
        OK(pthread_mutex_unlock(&monitor.mutex));
        return;
      }
      lock_when(&monitor.mutex, waiting, threads);
      allowed = 4;
      for (int s = 0; s < 4; ++s) OK(pthread_cond_signal(&monitor.cond));
      OK(pthread_mutex_unlock(&monitor.mutex));
      lock_when(&monitor.mutex, passed, 4);
      CHECK_EQ(0, allowed);
      allowed = 2;
      OK(pthread_cond_signal(&monitor.cond));
      OK(pthread_mutex_unlock(&monitor.mutex));
      OK(pthread_cond_signal(&monitor.cond));  // the second signal, without the mutex
    });
    CHECK_EQ(threads, passed);
  }
};

// POSIX: once the broadcast is sent no thread blocks on the condition variable, so it may be
// destroyed and its memory unmapped while the woken threads still queue for the mutex.
void destroyed_right_after_broadcast(bool outside) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  constexpr int threads = 4;
  constexpr int rounds = 40;
  for (int round = 0; round < rounds; ++round) {
    void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    auto* cond = static_cast<pthread_cond_t*>(memory);
    OK(pthread_cond_init(cond, nullptr));
    int waiting = 0;
    bool go = false;
    check::in_parallel(threads + 1, [&](int i) {
      if (i < threads) {
        OK(pthread_mutex_lock(&mutex));
        ++waiting;
        OK(pthread_cond_wait(cond, &mutex));  // no loop: a second wait would be on freed memory
        CHECK(go);
        OK(pthread_mutex_unlock(&mutex));
        return;
      }
      lock_when(&mutex, waiting, threads);
      go = true;
      if (outside) OK(pthread_mutex_unlock(&mutex));
      OK(pthread_cond_broadcast(cond));
      if (!outside) OK(pthread_mutex_unlock(&mutex));
      OK(pthread_cond_destroy(cond));
      CHECK(munmap(memory, page) == 0);
    });
  }
}

// The memory of a condition variable is reused, zeroed or initialised again.
CASE("reused memory") {
  Monitor monitor;
  for (int round = 0; round < 40; ++round) {
    int waiting = 0;
    bool go = false;
    check::in_parallel(3, [&](int i) {
      if (i < 2) {
        OK(pthread_mutex_lock(&monitor.mutex));
        ++waiting;
        while (!go) OK(pthread_cond_wait(&monitor.cond, &monitor.mutex));
        OK(pthread_mutex_unlock(&monitor.mutex));
        return;
      }
      lock_when(&monitor.mutex, waiting, 2);
      go = true;
      OK(pthread_cond_broadcast(&monitor.cond));
      OK(pthread_mutex_unlock(&monitor.mutex));
    });
    if (round % 2 == 0) {
      std::memset(&monitor.cond, 0, sizeof monitor.cond);
    } else {
      OK(pthread_cond_destroy(&monitor.cond));
      std::memset(&monitor.cond, 0x5A, sizeof monitor.cond);
      OK(pthread_cond_init(&monitor.cond, nullptr));
    }
  }
};

CASE("barrier of two") { return barrier_without_a_loop(2, 3'000); };
CASE("barrier of six") { return barrier_without_a_loop(6, 1'000); };
CASE("destroyed after broadcast") { destroyed_right_after_broadcast(false); };
CASE("destroyed after broadcast outside") { destroyed_right_after_broadcast(true); };

}  // namespace
