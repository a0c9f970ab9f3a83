// 200 threads on two cores. The number of acquisitions is small because a strict queue of spinning
// threads needs about a time slice for each.
#include "../support/check.hpp"

namespace {

constexpr int threads = 200;

void stay_on_two_cpus() {
  cpu_set_t all;
  CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
  cpu_set_t two;
  CPU_ZERO(&two);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++cpu)
    if (CPU_ISSET(cpu, &all))
      CPU_SET(cpu, &two);
  CHECK(sched_setaffinity(0, sizeof two, &two) == 0);
}

std::string two_hundred_threads() {
  stay_on_two_cpus();
  constexpr int each = 4;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  volatile long first = 0;
  volatile long second = 0;
  check::in_parallel(threads, [&](int) {
    for (int i = 0; i < each; ++i) {
      OK(pthread_mutex_lock(&mutex));
      first = first + 1;
      second = second + 1;
      OK(pthread_mutex_unlock(&mutex));
      sched_yield();
    }
  });
  CHECK_EQ(threads * each, first);
  CHECK_EQ(threads * each, second);
  OK(pthread_mutex_destroy(&mutex));
  return "";
}

// All 200 hold a mutex of their own and queue for a common one at the same time.
std::string each_holding_its_own() {
  std::vector<pthread_mutex_t> own(threads, PTHREAD_MUTEX_INITIALIZER);
  pthread_mutex_t common = PTHREAD_MUTEX_INITIALIZER;
  volatile long inside = 0;
  check::in_parallel(threads, [&](int i) {
    OK(pthread_mutex_lock(&own[static_cast<std::size_t>(i)]));
    OK(pthread_mutex_lock(&common));
    inside = inside + 1;
    OK(pthread_mutex_unlock(&own[static_cast<std::size_t>(i)]));
    OK(pthread_mutex_unlock(&common));
  });
  CHECK_EQ(threads, inside);
  for (auto &mutex : own)
    OK(pthread_mutex_destroy(&mutex));
  return "";
}

} // namespace

int main(int argc, char **argv) {
  return check::run(argc, argv,
                    {{"two hundred threads", two_hundred_threads},
                     {"each holding its own", each_holding_its_own}});
}
