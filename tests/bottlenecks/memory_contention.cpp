// Threads stream over more memory than the caches hold, and rarely add to a common total: they
// contend for memory bandwidth.
#include <unistd.h>
#include <algorithm>
#include "work.hpp"

namespace {

// Returns the words for each thread: twice the last-level cache, if the system reports it.
std::size_t words_of_cache() {
  const long cache = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
  const auto bytes = std::clamp(2 * cache, 64L << 20, 1L << 30);
  return static_cast<std::size_t>(bytes) / sizeof(std::uint64_t);
}

}  // namespace

int main(int count, char** words) {
  const work::changes given{count, words, {"--memory", "--shards", "--atomic"}};
  work::shards mutexes{given.count("--shards", 1)};
  const bool is_atomic = given.has("--atomic");
  const double part = given.value("--memory", 1);
  std::uint64_t total = 0;
  work::meter meter;
  work::in_threads(work::processors(), [&](unsigned number) {
    work::random random{number};
    constexpr std::size_t chunk = 65'536;
    constexpr std::size_t line = 64 / sizeof(std::uint64_t);
    const auto size = static_cast<std::size_t>(static_cast<double>(words_of_cache()) * part);
    std::vector<std::uint64_t> data(std::max(size, 2 * chunk), 1);
    // With a cache of 480 MiB, measuring the touched memory takes a third of a second.
    const work::clock clock{std::chrono::milliseconds{1'500}};
    std::uint64_t chunks = 0;
    for (std::size_t start = 0; clock.runs();
         start = start + 2 * chunk <= data.size() ? start + chunk : 0) {
      std::uint64_t sum = 0;
      // One word of each line, so that the memory is the limit, not the processor.
      for (std::size_t i = start; i < start + chunk; i += line) sum += data[i]++;
      ++chunks;
      if (is_atomic) {
        __atomic_fetch_add(&total, sum, __ATOMIC_RELAXED);
        continue;
      }
      const work::guard hold{mutexes.any(random)};
      __atomic_store_n(&total, total + sum, __ATOMIC_RELAXED);
    }
    meter.add(chunks);
  });
}
