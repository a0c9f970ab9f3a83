// A thread that reads waits for others to read the same lock, while writers wait for it: each of ten
// readers begins when the writers have waited for a while. Prints "read".
#include "../support/check.hpp"

#include <unistd.h>

#include <thread>
#include <vector>

int main() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  OK(pthread_rwlock_rdlock(&lock));
  std::vector<std::thread> writers;
  for (int i = 0; i < 2; ++i) {
    writers.emplace_back([&] {
      OK(pthread_rwlock_wrlock(&lock));
      OK(pthread_rwlock_unlock(&lock));
    });
  }
  for (int i = 0; i < 10; ++i) {
    usleep(30'000);
    std::thread reader([&] {
      OK(pthread_rwlock_rdlock(&lock));
      OK(pthread_rwlock_unlock(&lock));
    });
    reader.join();
  }
  OK(pthread_rwlock_unlock(&lock));
  for (std::thread& each : writers) {
    each.join();
  }
  std::puts("read");
}
