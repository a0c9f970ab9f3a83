// Prints the order in which threads of different real-time priorities get a mutex on one processor.
//
// The holder has the lowest priority. Three threads arrive at the mutex, one after the other, in
// each of the six orders of their priorities; then the holder unlocks. For each order of arrival it
// prints a line, "arrival: admission", where 1 is the lowest priority and 3 the highest. A polling
// waiter takes the processor from the holder forever: the program prints "starved" and ends.
//
// Status 77, with the reason on stderr: real-time scheduling is not permitted here.
#include "../support/check.hpp"

#include <sys/resource.h>
#include <algorithm>
#include <array>

namespace {

constexpr int holder_priority = 1;
constexpr int first_waiter_priority = 2;
constexpr int watchdog_priority = 50;
constexpr int not_permitted = 77;

// Nanoseconds of processor time of one waiter. A lock that parks polls for microseconds only.
constexpr std::int64_t starved_after = 200'000'000;

// Limits a thread that does not sleep, enforced by the kernel: ends this program if its watchdog
// cannot.
constexpr rlim_t seconds_to_live = 5;

int use_fifo(int priority) {
  sched_param parameters{};
  parameters.sched_priority = priority;
  return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
}

// The clock of each waiter's processor time.
std::array<std::atomic<clockid_t>, 3> clocks{};

bool starves_others(clockid_t clock) {
  timespec used{};
  // The clock of a thread that has ended is gone.
  return clock != 0 && clock_gettime(clock, &used) == 0 &&
         used.tv_sec * std::int64_t{1'000'000'000} + used.tv_nsec > starved_after;
}

// Runs at the highest priority, since it shares the waiters' processor.
void* watch(void*) {
  OK(use_fifo(watchdog_priority));
  for (;;) {
    check::sleep_ms(10);
    for (const auto& clock : clocks) {
      if (starves_others(clock.load())) {
        std::printf("starved\n");
        std::fflush(stdout);
        _exit(0);
      }
    }
  }
}

using Order = std::array<int, 3>;

Order admission(const Order& arrival) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  Order admitted{};
  std::size_t inside = 0;  // written under the mutex
  OK(pthread_mutex_lock(&mutex));
  std::vector<std::unique_ptr<check::Worker>> waiters;
  for (const int rank : arrival) {
    waiters.push_back(std::make_unique<check::Worker>([&, rank](check::Worker& self) {
      clockid_t clock;
      OK(pthread_getcpuclockid(pthread_self(), &clock));
      clocks[static_cast<std::size_t>(rank - 1)].store(clock);
      OK(use_fifo(first_waiter_priority + rank - 1));
      self.about_to_block();
      OK(pthread_mutex_lock(&mutex));
      admitted[inside++] = rank;
      OK(pthread_mutex_unlock(&mutex));
    }));
    waiters.back()->wait_until_blocked();
  }
  OK(pthread_mutex_unlock(&mutex));
  for (auto& waiter : waiters) waiter->join();
  OK(pthread_mutex_destroy(&mutex));
  return admitted;
}

void print(const Order& order) { std::printf("%d %d %d", order[0], order[1], order[2]); }

}  // namespace

int main() {
  if (const int error = use_fifo(holder_priority); error != 0) {
    std::fprintf(stderr, "SCHED_FIFO: %s\n", strerror(error));
    return not_permitted;
  }
  const rlimit limit{seconds_to_live * 1'000'000, seconds_to_live * 1'000'000};
  CHECK(setrlimit(RLIMIT_RTTIME, &limit) == 0);
  const check::Confined confined(1);
  pthread_t watchdog;
  OK(pthread_create(&watchdog, nullptr, watch, nullptr));
  OK(pthread_detach(watchdog));
  Order arrival{1, 2, 3};
  do {
    const Order admitted = admission(arrival);
    print(arrival);
    std::printf(": ");
    print(admitted);
    std::printf("\n");
  } while (std::next_permutation(arrival.begin(), arrival.end()));
  return 0;
}
