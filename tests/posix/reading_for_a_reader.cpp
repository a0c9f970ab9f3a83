// A thread that reads waits for others to read the same lock, while writers wait for it: each of ten
// readers begins when the writers have waited for a while. Prints "read".
#include "../support/check.hpp"

#include <unistd.h>

#include <thread>
#include <vector>

int main(int argc, char**) {
  const bool writers_first = argc > 1;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  if (writers_first) {
    lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  }
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
      if (writers_first) {
        CHECK_RC(EBUSY, pthread_rwlock_tryrdlock(&lock));
        return;
      }
      OK(pthread_rwlock_rdlock(&lock));
      OK(pthread_rwlock_unlock(&lock));
    });
    reader.join();
  }
  OK(pthread_rwlock_unlock(&lock));
  for (std::thread& each : writers) {
    each.join();
  }
  std::puts(writers_first ? "kept out" : "read");
}
