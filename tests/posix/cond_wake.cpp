// Which waiters are woken: a broadcast wakes all, a signal exactly one and the longest waiting
// first, no thread wakes without cause, and the condition variable may go as soon as the broadcast
// has been sent.
#include "../support/check.hpp"

#include <sys/mman.h>

namespace {

struct Meeting {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
};

// Returns, with the mutex held, when `count` threads wait on the condition variable.
template <class Count>
void lock_when(pthread_mutex_t* mutex, const Count& count, int wanted) {
  for (;;) {
    OK(pthread_mutex_lock(mutex));
    if (count == wanted) return;
    OK(pthread_mutex_unlock(mutex));
    check::sleep_us(100);
  }
}

// A barrier as some programs write it, without a loop around the wait: it works only while no
// thread is woken without cause.
std::string barrier_without_a_loop(int threads, int at_most) {
  Meeting meeting;
  int arrived = 0;
  int generation = 0;
  bool end = false;
  const check::Budget budget{200};
  check::in_parallel(threads, [&](int) {
    bool last = false;
    for (int g = 0; !last; ++g) {
      OK(pthread_mutex_lock(&meeting.mutex));
      CHECK_EQ(g, generation);
      if (++arrived == threads) {
        arrived = 0;
        ++generation;
        end = generation == at_most || budget.spent();
        OK(pthread_cond_broadcast(&meeting.cond));
      } else {
        OK(pthread_cond_wait(&meeting.cond, &meeting.mutex));
      }
      CHECK_EQ(g + 1, generation);
      last = end;  // no thread can begin another round before all have left this one
      OK(pthread_mutex_unlock(&meeting.mutex));
    }
  });
  return "threads " + std::to_string(threads) + " generations " + std::to_string(generation);
}

// They arrive one after the other: 150 threads at once in a strict queue of spinners would take
// minutes, and only what happens after the broadcast matters here.
std::string broadcast_to_many() {
  Meeting meeting;
  constexpr int threads = 150;
  int waiting = 0;
  int woken = 0;
  bool go = false;
  std::vector<std::unique_ptr<check::Worker>> workers;
  for (int i = 0; i < threads; ++i) {
    workers.push_back(std::make_unique<check::Worker>([&](check::Worker&) {
      OK(pthread_mutex_lock(&meeting.mutex));
      ++waiting;
      while (!go) OK(pthread_cond_wait(&meeting.cond, &meeting.mutex));
      ++woken;
      OK(pthread_mutex_unlock(&meeting.mutex));
    }));
    lock_when(&meeting.mutex, waiting, i + 1);
    OK(pthread_mutex_unlock(&meeting.mutex));
  }
  OK(pthread_mutex_lock(&meeting.mutex));
  CHECK_EQ(0, woken);
  go = true;
  OK(pthread_cond_broadcast(&meeting.cond));
  OK(pthread_mutex_unlock(&meeting.mutex));
  for (auto& worker : workers) worker->join();
  CHECK_EQ(threads, woken);
  return "";
}

// A broadcast does not make waiters run while the mutex is held: none runs while the broadcaster
// has it, and while one of them has it, at most one other has got up in advance. This too is the
// library's own promise.
std::string woken_waiters_find_the_mutex_free() {
  const char* promised = std::getenv("LOCKWRIGHT_TEST_COND_FIFO");
  if (promised == nullptr || *promised == '\0') return "not promised";
  Meeting meeting;
  constexpr int threads = 6;
  int waiting = 0;
  std::atomic<int> inside{0};
  std::atomic<bool> go_on{false};
  std::vector<std::unique_ptr<check::Worker>> workers;
  for (int i = 0; i < threads; ++i) {
    workers.push_back(std::make_unique<check::Worker>([&](check::Worker& self) {
      OK(pthread_mutex_lock(&meeting.mutex));
      ++waiting;
      self.about_to_block();
      OK(pthread_cond_wait(&meeting.cond, &meeting.mutex));
      inside.fetch_add(1);
      check::wait_until([&] { return go_on.load(); });
      OK(pthread_mutex_unlock(&meeting.mutex));
    }));
    lock_when(&meeting.mutex, waiting, i + 1);
    OK(pthread_mutex_unlock(&meeting.mutex));
    workers.back()->wait_until_blocked();
  }
  check::sleep_ms(5);  // for one that announced itself and had 3 ms to fall asleep
  std::vector<std::int64_t> used;
  for (const auto& worker : workers) used.push_back(worker->cpu_time());
  const auto got_up = [&] {
    int count = 0;
    for (std::size_t i = 0; i < threads; ++i) count += workers[i]->cpu_time() != used[i] ? 1 : 0;
    return count;
  };
  OK(pthread_mutex_lock(&meeting.mutex));
  OK(pthread_cond_broadcast(&meeting.cond));
  check::sleep_ms(20);
  CHECK_EQ(0, got_up());
  OK(pthread_mutex_unlock(&meeting.mutex));
  check::wait_until([&] { return inside.load() == 1; });
  check::sleep_ms(20);
  CHECK(got_up() <= 2);
  go_on.store(true);
  for (auto& worker : workers) worker->join();
  CHECK_EQ(threads, inside.load());
  return "";
}

// Waiters arrive in a known order; each signal wakes exactly one. The order itself is a promise of
// the library under test, not of POSIX, so it is asserted only where the harness says so.
std::string one_at_a_time_in_order() {
  const char* promised = std::getenv("LOCKWRIGHT_TEST_COND_FIFO");
  const bool in_order = promised != nullptr && *promised != '\0';
  Meeting meeting;
  constexpr int threads = 8;
  int waiting = 0;
  std::vector<int> woken;
  std::vector<std::unique_ptr<check::Worker>> workers;
  for (int i = 0; i < threads; ++i) {
    workers.push_back(std::make_unique<check::Worker>([&, i](check::Worker&) {
      OK(pthread_mutex_lock(&meeting.mutex));
      ++waiting;
      OK(pthread_cond_wait(&meeting.cond, &meeting.mutex));
      woken.push_back(i);
      OK(pthread_mutex_unlock(&meeting.mutex));
    }));
    lock_when(&meeting.mutex, waiting, i + 1);
    OK(pthread_mutex_unlock(&meeting.mutex));
  }
  for (std::size_t i = 0; i < threads; ++i) {
    OK(pthread_mutex_lock(&meeting.mutex));
    CHECK_EQ(i, woken.size());
    OK(pthread_cond_signal(&meeting.cond));
    OK(pthread_mutex_unlock(&meeting.mutex));
    check::wait_until_under(&meeting.mutex, [&] { return woken.size() > i; });
    check::sleep_us(300);  // a second one, woken by mistake, would be here now
    OK(pthread_mutex_lock(&meeting.mutex));
    CHECK_EQ(i + 1, woken.size());
    if (in_order) CHECK_EQ(i, woken.back());
    OK(pthread_mutex_unlock(&meeting.mutex));
  }
  for (auto& worker : workers) worker->join();
  return in_order ? "in order" : "";
}

// Several signals sent under one hold of the mutex wake as many threads.
std::string signals_add_up() {
  Meeting meeting;
  constexpr int threads = 6;
  for (int round = 0; round < 20; ++round) {
    int waiting = 0;
    int allowed = 0;
    int through = 0;
    check::in_parallel(threads + 1, [&](int i) {
      if (i < threads) {
        OK(pthread_mutex_lock(&meeting.mutex));
        ++waiting;
        while (allowed == 0) OK(pthread_cond_wait(&meeting.cond, &meeting.mutex));
        --allowed;
        ++through;
        OK(pthread_mutex_unlock(&meeting.mutex));
        return;
      }
      lock_when(&meeting.mutex, waiting, threads);
      allowed = 4;
      for (int s = 0; s < 4; ++s) OK(pthread_cond_signal(&meeting.cond));
      OK(pthread_mutex_unlock(&meeting.mutex));
      lock_when(&meeting.mutex, through, 4);
      CHECK_EQ(0, allowed);
      allowed = 2;
      OK(pthread_cond_signal(&meeting.cond));
      OK(pthread_mutex_unlock(&meeting.mutex));
      OK(pthread_cond_signal(&meeting.cond));  // the second one without the mutex
    });
    CHECK_EQ(threads, through);
  }
  return "";
}

// Signals and broadcasts that no thread waits for are not saved for later.
std::string signals_without_waiters_are_void() {
  Meeting meeting;
  OK(pthread_cond_signal(&meeting.cond));
  OK(pthread_cond_broadcast(&meeting.cond));
  OK(pthread_mutex_lock(&meeting.mutex));
  OK(pthread_cond_signal(&meeting.cond));
  for (int i = 0; i < 3; ++i) {
    const timespec soon = check::after_ms(CLOCK_REALTIME, 5);
    CHECK_RC(ETIMEDOUT, pthread_cond_timedwait(&meeting.cond, &meeting.mutex, &soon));
    OK(pthread_cond_signal(&meeting.cond));  // the waiter has gone by its timeout
  }
  OK(pthread_mutex_unlock(&meeting.mutex));
  return "";
}

// A broadcast sent without holding the mutex.
std::string broadcast_outside() {
  Meeting meeting;
  constexpr int threads = 5;
  for (int round = 0; round < 30; ++round) {
    int waiting = 0;
    bool go = false;
    check::in_parallel(threads + 1, [&](int i) {
      if (i < threads) {
        OK(pthread_mutex_lock(&meeting.mutex));
        ++waiting;
        while (!go) OK(pthread_cond_wait(&meeting.cond, &meeting.mutex));
        OK(pthread_mutex_unlock(&meeting.mutex));
        return;
      }
      lock_when(&meeting.mutex, waiting, threads);
      go = true;
      OK(pthread_mutex_unlock(&meeting.mutex));
      OK(pthread_cond_broadcast(&meeting.cond));
    });
  }
  return "";
}

// POSIX: once the broadcast is sent no thread blocks on the condition variable, so it may be
// destroyed and its memory given back while the woken threads still queue for the mutex.
std::string destroyed_right_after_broadcast(bool outside) {
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
  return "";
}

// The memory of a condition variable is used again, zeroed or initialised anew.
std::string reused_memory() {
  Meeting meeting;
  for (int round = 0; round < 40; ++round) {
    int waiting = 0;
    bool go = false;
    check::in_parallel(3, [&](int i) {
      if (i < 2) {
        OK(pthread_mutex_lock(&meeting.mutex));
        ++waiting;
        while (!go) OK(pthread_cond_wait(&meeting.cond, &meeting.mutex));
        OK(pthread_mutex_unlock(&meeting.mutex));
        return;
      }
      lock_when(&meeting.mutex, waiting, 2);
      go = true;
      OK(pthread_cond_broadcast(&meeting.cond));
      OK(pthread_mutex_unlock(&meeting.mutex));
    });
    if (round % 2 == 0) {
      std::memset(&meeting.cond, 0, sizeof meeting.cond);
    } else {
      OK(pthread_cond_destroy(&meeting.cond));
      std::memset(&meeting.cond, 0x5A, sizeof meeting.cond);
      OK(pthread_cond_init(&meeting.cond, nullptr));
    }
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  return check::run(
      argc, argv,
      {{"barrier of two", [] { return barrier_without_a_loop(2, 3'000); }},
       {"barrier of six", [] { return barrier_without_a_loop(6, 1'000); }},
       {"broadcast to many", broadcast_to_many},
       {"nobody runs into a held mutex", woken_waiters_find_the_mutex_free},
       {"one at a time in order", one_at_a_time_in_order},
       {"signals add up", signals_add_up},
       {"signals without waiters are void", signals_without_waiters_are_void},
       {"broadcast outside", broadcast_outside},
       {"destroyed after broadcast", [] { return destroyed_right_after_broadcast(false); }},
       {"destroyed after broadcast outside", [] { return destroyed_right_after_broadcast(true); }},
       {"reused memory", reused_memory}});
}
