// A thread that spins, with a mutex held, until another one has slept and changed a word. Prints the
// nanoseconds for which it ran meanwhile.
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <thread>

namespace {

std::atomic<int> readers{0};
std::mutex exclusive;

[[gnu::noinline]] void await_readers() {
  const std::scoped_lock lock(exclusive);
  while (readers.load() != 0) {
  }
}

std::int64_t ran_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int main() {
  std::int64_t spun = 0;
  while (spun < 600'000'000) {
    readers = 1;
    std::thread reader([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      readers = 0;
    });
    const std::int64_t begin = ran_ns();
    await_readers();
    spun += ran_ns() - begin;
    reader.join();
  }
  std::printf("%lld\n", static_cast<long long>(spun));
}
