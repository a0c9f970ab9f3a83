// 200 threads on two cores, all of them in the queue of one mutex at the same time, and a thousand
// that sleep.
//
// A FIFO queue of spinning threads hands over only when the scheduler runs the successor, which
// with 200 runnable threads takes a large part of a second each time. So every thread is halted, by
// a signal whose handler sleeps, once it has arrived, and they are continued one after the other.
// Under a lock that parks its waiters the signal interrupts a sleep instead.
#include "../support/check.hpp"

#include <csignal>
#include <cstring>

namespace {

constexpr int most_threads = 200;

class Halt {
 public:
  void enter() {
    halted_.store(true);
    gate_.pass();
  }
  void release() { gate_.open(); }
  [[nodiscard]] bool halted() const { return halted_.load(); }

 private:
  check::Gate gate_;
  std::atomic<bool> halted_{false};
};

thread_local Halt* my_halt = nullptr;

// On declared NUMA nodes a lock may deviate from the order of arrival, and then the successor is
// one of many spinning threads. If nodes consist of CPUs, one CPU puts all threads on one node. If
// they consist of threads, fewer threads run.
CASE("two hundred in one queue") {
  const char* topology = std::getenv("LOCKWRIGHT_TOPOLOGY");
  const bool by_thread = topology != nullptr && std::strncmp(topology, "threads:", 8) == 0;
  const int threads = by_thread ? 40 : most_threads;
  const check::Confined cpus{topology != nullptr && !by_thread ? 1 : 2};
  struct sigaction action = {};
  action.sa_handler = [](int) { my_halt->enter(); };
  CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);

  const bool in_order = std::getenv("LOCKWRIGHT_TEST_FIFO") != nullptr;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::vector<pthread_mutex_t> private_mutexes(static_cast<std::size_t>(threads),
                                               PTHREAD_MUTEX_INITIALIZER);
  std::vector<Halt> halts(static_cast<std::size_t>(threads));
  std::vector<std::unique_ptr<check::Worker>> workers;
  volatile long first = 0;
  volatile long second = 0;
  OK(pthread_mutex_lock(&mutex));
  for (int i = 0; i < threads; ++i) {
    const auto index = static_cast<std::size_t>(i);
    workers.push_back(std::make_unique<check::Worker>([&, i, index](check::Worker& self) {
      my_halt = &halts[index];
      OK(pthread_mutex_lock(&private_mutexes[index]));  // each thread also holds a private mutex
      self.about_to_block();
      OK(pthread_mutex_lock(&mutex));
      if (in_order) CHECK_EQ(i, first);
      first = first + 1;
      OK(pthread_mutex_unlock(&private_mutexes[index]));
      second = second + 1;
      OK(pthread_mutex_unlock(&mutex));
    }));
    workers.back()->wait_until_blocked();
    OK(pthread_kill(workers.back()->handle(), SIGUSR1));
    check::wait_until([&] { return halts[index].halted(); });
  }
  CHECK_EQ(0, first);
  OK(pthread_mutex_unlock(&mutex));
  int oldest = 0;
  int newest = threads - 1;
  bool newest_first = false;
  for (int i = 0; i < threads; ++i) {
    const long before = first;
    halts[static_cast<std::size_t>(newest_first ? newest-- : oldest++)].release();
    // In the order of arrival the thread enters now. A lock with another order may have given the
    // mutex to a halted thread: then the next thread to continue is at the other end.
    const check::Budget budget{in_order ? 60'000 : 20};
    while (first == before && !budget.spent()) check::sleep_us(20);
    newest_first = newest_first != (first == before);
  }
  for (auto& worker : workers) worker->join();
  CHECK_EQ(threads, first);
  CHECK_EQ(threads, second);
  OK(pthread_mutex_destroy(&mutex));
  for (auto& private_mutex : private_mutexes) OK(pthread_mutex_destroy(&private_mutex));
  return in_order ? "in the order of arrival" : "";
};

// 200 threads alive at once, three of them active: an acquisition may begin once all but two of the
// earlier ones are done.
CASE("two hundred alive") {
  constexpr int threads = most_threads;
  constexpr int rounds = 3;
  constexpr int active = 3;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  volatile long counter = 0;
  std::atomic<int> done{0};
  std::vector<check::Gate> gates(static_cast<std::size_t>(threads * rounds));
  for (int number = 0; number < active; ++number) gates[static_cast<std::size_t>(number)].open();
  check::in_parallel(threads, [&](int i) {
    for (int number = i; number < threads * rounds; number += threads) {
      gates[static_cast<std::size_t>(number)].pass();
      OK(pthread_mutex_lock(&mutex));
      counter = counter + 1;
      OK(pthread_mutex_unlock(&mutex));
      const int next = done.fetch_add(1) + active;
      if (next < threads * rounds) gates[static_cast<std::size_t>(next)].open();
    }
  });
  CHECK_EQ(threads * rounds, counter);
};

constexpr int a_thousand = 1'000;

// All sleep on one condition variable, woken by one broadcast, and then acquire the mutex one after
// the other. They arrive one by one, because many polling waiters at once would not progress.
CASE("a thousand asleep on a condition variable") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  std::atomic<int> waiting{0};
  int woken = 0;
  bool go = false;
  std::vector<std::unique_ptr<check::Worker>> workers;
  for (int i = 0; i < a_thousand; ++i) {
    workers.push_back(std::make_unique<check::Worker>([&](check::Worker&) {
      OK(pthread_mutex_lock(&mutex));
      ++waiting;
      while (!go) OK(pthread_cond_wait(&cond, &mutex));
      ++woken;
      OK(pthread_mutex_unlock(&mutex));
    }));
    check::wait_until([&] { return waiting.load() > i; });
  }
  OK(pthread_mutex_lock(&mutex));
  CHECK_EQ(0, woken);
  go = true;
  OK(pthread_cond_broadcast(&cond));
  OK(pthread_mutex_unlock(&mutex));
  for (auto& worker : workers) worker->join();
  CHECK_EQ(a_thousand, woken);
  OK(pthread_mutex_destroy(&mutex));
  OK(pthread_cond_destroy(&cond));
};

// All sleep in the queue of one mutex. As many polling waiters would leave no processor to others.
CASE("a thousand asleep in a queue") {
  if (std::getenv("LOCKWRIGHT_TEST_PARKS") == nullptr) return;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  volatile int inside = 0;
  std::vector<std::unique_ptr<check::Worker>> workers;
  OK(pthread_mutex_lock(&mutex));
  for (int i = 0; i < a_thousand; ++i)
    workers.push_back(std::make_unique<check::Worker>([&](check::Worker& self) {
      self.about_to_block();
      OK(pthread_mutex_lock(&mutex));
      inside = inside + 1;
      OK(pthread_mutex_unlock(&mutex));
    }));
  for (auto& worker : workers) worker->wait_until_blocked();
  CHECK_EQ(0, inside);
  OK(pthread_mutex_unlock(&mutex));
  for (auto& worker : workers) worker->join();
  CHECK_EQ(a_thousand, inside);
  OK(pthread_mutex_destroy(&mutex));
};

}  // namespace
