// Threads stream over more memory than the caches hold, and rarely add to a common total: they
// contend for memory bandwidth.
#include <unistd.h>
#include <algorithm>
#include "work.hpp"

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::uint64_t total = 0;

// Returns the words for each thread: twice the last-level cache, if the system reports it.
std::size_t words() {
  const long cache = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
  const auto bytes = std::clamp(2 * cache, 64L << 20, 1L << 30);
  return static_cast<std::size_t>(bytes) / sizeof(std::uint64_t);
}

}  // namespace

int main() {
  work::in_threads(work::processors(), [&](unsigned) {
    std::vector<std::uint64_t> data(words(), 1);
    // With a cache of 480 MiB, measuring the touched memory takes a third of a second.
    const work::clock clock{std::chrono::milliseconds{1'500}};
    constexpr std::size_t chunk = 16'384;
    for (std::size_t start = 0; clock.runs();
         start = start + 2 * chunk <= data.size() ? start + chunk : 0) {
      std::uint64_t sum = 0;
      for (std::size_t i = start; i < start + chunk; ++i) sum += data[i]++;
      const work::guard hold{mutex};
      total += sum;
    }
  });
}
