// Mutual exclusion: threads change two counters that nothing but the mutex protects. Run with
// random yields in and out of the critical section, on one CPU only, with signal handlers that
// sleep at any point, and for every mutex type.
#include "../support/check.hpp"

#include <csignal>

namespace {

struct Shared {
  explicit Shared(int type) { check::init_mutex(&mutex, type); }
  ~Shared() { OK(pthread_mutex_destroy(&mutex)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  pthread_mutex_t mutex;
  volatile long first = 0;
  volatile int inside = 0;
  char padding[256] = {};
  volatile long second = 0;
};

// One critical section; a yield between read and write widens the window for a second thread.
void enter(Shared& shared, check::Random& random) {
  OK(pthread_mutex_lock(&shared.mutex));
  CHECK_EQ(0, shared.inside);
  shared.inside = 1;
  const long first = shared.first;
  const long second = shared.second;
  if (random.below(16) == 0) sched_yield();
  shared.first = first + 1;
  shared.second = second + 1;
  CHECK_EQ(1, shared.inside);
  shared.inside = 0;
  OK(pthread_mutex_unlock(&shared.mutex));
}

std::string contend(int type, int threads, long at_most, int budget_ms) {
  Shared shared{type};
  std::atomic<long> entered{0};
  const check::Budget budget{budget_ms};
  check::in_parallel(threads, [&](int i) {
    check::Random random{static_cast<std::uint64_t>(i) + 1};
    long sections = 0;
    do {
      enter(shared, random);
      ++sections;
      if (random.below(16) == 0) sched_yield();
    } while (sections < at_most && !budget.spent());
    entered += sections;
  });
  CHECK_EQ(entered.load(), shared.first);
  CHECK_EQ(entered.load(), shared.second);
  return "threads " + std::to_string(threads) + " entered " + std::to_string(entered.load());
}

CASE("one to four times the cores") {
  const int cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  std::string details;
  for (const int threads : {1, cores, 2 * cores, 4 * cores})
    details += contend(PTHREAD_MUTEX_NORMAL, threads, 20'000, 100) + "; ";
  return details;
};

CASE("on one cpu") {
  const check::Confined confined{1};
  return contend(PTHREAD_MUTEX_NORMAL, 4, 20'000, 100);
};

CASE("every type") {
  for (const int type : check::all_types) contend(type, 3, 5'000, 50);
};

CASE("interrupted by signals") {
  struct sigaction action = {};
  action.sa_handler = [](int) { check::sleep_us(300); };
  CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);  // no SA_RESTART: waits return EINTR

  Shared shared{PTHREAD_MUTEX_NORMAL};
  constexpr int threads = 4;
  const check::Budget budget{150};
  std::atomic<long> entered{0};
  std::atomic<int> running{threads};
  std::atomic<bool> may_end{false};
  constexpr long enough = 20;
  std::atomic<long> sent{0};
  std::vector<std::unique_ptr<check::Worker>> workers;
  for (int i = 0; i < threads; ++i)
    workers.push_back(std::make_unique<check::Worker>([&, i](check::Worker&) {
      check::Random random{static_cast<std::uint64_t>(i) + 1};
      long sections = 0;
      do {
        enter(shared, random);
        ++sections;
      } while (!budget.spent() || sent.load() < enough);
      entered += sections;
      --running;
      check::wait_until([&] { return may_end.load(); });  // stay alive for pthread_kill
    }));
  check::Random random{99};
  while (running.load() > 0) {
    OK(pthread_kill(workers[random.below(threads)]->handle(), SIGUSR1));
    ++sent;
    check::sleep_us(500);
  }
  may_end = true;
  for (auto& worker : workers) worker->join();
  CHECK_EQ(entered.load(), shared.first);
  CHECK_EQ(entered.load(), shared.second);
  return "signals " + std::to_string(sent.load()) + " entered " + std::to_string(entered.load());
};

}  // namespace
