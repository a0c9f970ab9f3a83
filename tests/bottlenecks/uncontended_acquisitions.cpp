// A grid with a mutex for each cell; every thread uses a separate part.
#include <array>
#include "work.hpp"

namespace {

struct alignas(64) cell {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::uint64_t value = 0;
};

}  // namespace

int main(int count, char** words) {
  const work::changes given{count, words, {"--batch", "--atomic", "--shards"}};
  const unsigned batch = given.count("--batch", 1);
  const bool is_atomic = given.has("--atomic");
  const unsigned mutexes = given.count("--shards", 1);
  work::meter meter;
  const work::clock clock{std::chrono::milliseconds{300}};
  work::in_threads(work::processors(), [&](unsigned) {
    std::array<cell, 64> part;
    std::uint64_t changed = 0;
    for (unsigned next = 0; clock.runs();) {
      for (int round = 0; round < 100; ++round) {
        for (unsigned first = 0; first < part.size(); first += batch) {
          if (is_atomic) {
            __atomic_fetch_add(&part[first].value, 1, __ATOMIC_RELAXED);
            continue;
          }
          // With several mutexes for each cell, another one each time.
          next = mutexes == 1 ? first : (next + 1) % mutexes;
          const work::guard hold{part[next % part.size()].mutex};
          for (unsigned i = first; i < first + batch && i < part.size(); ++i) ++part[i].value;
        }
      }
      changed += 100 * part.size();
    }
    meter.add(changed);
  });
}
