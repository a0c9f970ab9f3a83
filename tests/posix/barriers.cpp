// Barriers and pthread_once, which no lock library touches.
#include "../support/check.hpp"

namespace {

std::string barriers() {
  constexpr int threads = 5;
  constexpr int rounds = 200;
  pthread_barrier_t barrier;
  OK(pthread_barrier_init(&barrier, nullptr, threads));
  std::atomic<int> arrived{0};
  std::atomic<int> serial{0};
  check::in_parallel(threads, [&](int) {
    for (int round = 1; round <= rounds; ++round) {
      ++arrived;
      const int result = pthread_barrier_wait(&barrier);
      CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
      if (result != 0) ++serial;
      CHECK(arrived.load() >= threads * round);
      pthread_barrier_wait(&barrier);
    }
  });
  CHECK_EQ(threads * rounds, arrived.load());
  CHECK(serial.load() >= rounds);
  OK(pthread_barrier_destroy(&barrier));
  return "";
}

std::atomic<int> calls{0};
pthread_mutex_t inside = PTHREAD_MUTEX_INITIALIZER;

void count_call() {
  OK(pthread_mutex_lock(&inside));
  check::sleep_ms(1);
  ++calls;
  OK(pthread_mutex_unlock(&inside));
}

std::string once() {
  for (int round = 0; round < 20; ++round) {
    pthread_once_t control = PTHREAD_ONCE_INIT;
    calls = 0;
    check::in_parallel(5, [&](int) {
      OK(pthread_once(&control, count_call));
      CHECK_EQ(1, calls.load());
    });
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  return check::run(argc, argv, {{"barriers", barriers}, {"once", once}});
}
