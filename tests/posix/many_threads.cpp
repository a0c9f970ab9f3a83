// 200 threads on two cores, all of them in the queue of one mutex at the same time.
//
// A strict queue of spinning threads hands over only when the scheduler happens to run the next in
// line, which with 200 runnable threads takes a large part of a second each time. So every thread is
// halted, by a signal whose handler sleeps, once it has arrived, and they are let go one after the
// other. A lock that parks its waiters sees a signal in the middle of its sleep instead.
#include "../support/check.hpp"

#include <linux/futex.h>
#include <csignal>
#include <cstring>

namespace {

constexpr int most_threads = 200;

// Raw futex calls: nothing here may depend on what is tested.
class Gate {
 public:
  void pass() {
    halted_.store(true);
    while (open_.load() == 0)
      syscall(SYS_futex, &open_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
  void open() {
    open_.store(1);
    syscall(SYS_futex, &open_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  [[nodiscard]] bool halted() const { return halted_.load(); }

 private:
  std::atomic<std::uint32_t> open_{0};
  std::atomic<bool> halted_{false};
};

thread_local Gate* my_gate = nullptr;

// On declared NUMA nodes a lock may leave the order of arrival, and then the next in line is one of
// many that spin. Where nodes are made of CPUs, one CPU puts all threads on one node. Where they are
// made of threads, fewer have to do.
std::string many_in_one_queue() {
  const char* topology = std::getenv("LOCKWRIGHT_TOPOLOGY");
  const bool by_thread = topology != nullptr && std::strncmp(topology, "threads:", 8) == 0;
  const int threads = by_thread ? 40 : most_threads;
  const check::Confined cpus{topology != nullptr && !by_thread ? 1 : 2};
  struct sigaction action = {};
  action.sa_handler = [](int) { my_gate->pass(); };
  CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);

  const bool in_order = std::getenv("LOCKWRIGHT_TEST_FIFO") != nullptr;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::vector<pthread_mutex_t> own(static_cast<std::size_t>(threads), PTHREAD_MUTEX_INITIALIZER);
  std::vector<Gate> gates(static_cast<std::size_t>(threads));
  std::vector<std::unique_ptr<check::Worker>> workers;
  volatile long first = 0;
  volatile long second = 0;
  OK(pthread_mutex_lock(&mutex));
  for (int i = 0; i < threads; ++i) {
    const auto at = static_cast<std::size_t>(i);
    workers.push_back(std::make_unique<check::Worker>([&, i, at](check::Worker& self) {
      my_gate = &gates[at];
      OK(pthread_mutex_lock(&own[at]));  // everyone holds one of its own as well
      self.about_to_block();
      OK(pthread_mutex_lock(&mutex));
      if (in_order) CHECK_EQ(i, first);
      first = first + 1;
      OK(pthread_mutex_unlock(&own[at]));
      second = second + 1;
      OK(pthread_mutex_unlock(&mutex));
    }));
    workers.back()->wait_until_blocked();
    OK(pthread_kill(workers.back()->handle(), SIGUSR1));
    check::wait_until([&] { return gates[at].halted(); });
  }
  CHECK_EQ(0, first);
  OK(pthread_mutex_unlock(&mutex));
  int oldest = 0;
  int newest = threads - 1;
  bool newest_first = false;
  for (int i = 0; i < threads; ++i) {
    const long before = first;
    gates[static_cast<std::size_t>(newest_first ? newest-- : oldest++)].open();
    // In the order of arrival each one gets in now. A lock with another order may have given the
    // mutex to one that is still halted: then the next gate to open is at the other end.
    const check::Budget patience{in_order ? 60'000 : 20};
    while (first == before && !patience.spent()) check::sleep_us(20);
    newest_first = newest_first != (first == before);
  }
  for (auto& worker : workers) worker->join();
  CHECK_EQ(threads, first);
  CHECK_EQ(threads, second);
  OK(pthread_mutex_destroy(&mutex));
  for (auto& one : own) OK(pthread_mutex_destroy(&one));
  return in_order ? "in the order of arrival" : "";
}

// 200 threads alive at once, each with acquisitions behind it, a few of them at work.
std::string two_hundred_alive() {
  constexpr int threads = most_threads;
  constexpr int rounds = 3;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  volatile long counter = 0;
  std::atomic<int> turn{0};
  check::in_parallel(threads, [&](int i) {
    for (int round = 0; round < rounds; ++round) {
      check::wait_until([&] { return turn.load() + 3 > round * threads + i; });
      OK(pthread_mutex_lock(&mutex));
      counter = counter + 1;
      OK(pthread_mutex_unlock(&mutex));
      ++turn;
    }
  });
  CHECK_EQ(threads * rounds, counter);
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  return check::run(
      argc, argv,
      {{"two hundred in one queue", many_in_one_queue}, {"two hundred alive", two_hundred_alive}});
}
