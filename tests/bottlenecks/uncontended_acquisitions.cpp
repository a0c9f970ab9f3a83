// A grid with a mutex for each cell; every thread uses a separate part.
#include <array>
#include "work.hpp"

namespace {

struct alignas(64) cell {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::uint64_t value = 0;
};

}  // namespace

int main() {
  const work::clock clock{std::chrono::milliseconds{300}};
  work::in_threads(work::processors(), [&](unsigned) {
    std::array<cell, 64> part;
    while (clock.runs()) {
      for (int round = 0; round < 100; ++round) {
        for (auto& each : part) {
          const work::guard hold{each.mutex};
          ++each.value;
        }
      }
    }
  });
}
