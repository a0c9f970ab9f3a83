// Two threads take mutexes in a function that is inlined into another one. Then it prints its process
// number, and ends with its input.
#include <mutex>

#include "../support/check.hpp"

struct shard {
  std::mutex mutex;

  [[gnu::always_inline]] inline void get() {
    const std::lock_guard<std::mutex> held(mutex);
    check::sleep_us(1'000);
  }
};

namespace {

[[gnu::noinline]] void work(shard* shards) {
  for (int i = 0; i < 300; ++i) {
    shards[i % 2].get();
  }
}

}  // namespace

int main() {
  const std::unique_ptr<shard[]> shards(new shard[2]);
  std::thread other(work, shards.get());
  work(shards.get());
  other.join();
  std::printf("%d\n", getpid());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}
