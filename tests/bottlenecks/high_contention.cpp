// A queue of tasks with one mutex: part of the threads stand in line at any time.
#include "work.hpp"

namespace {

pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
constexpr std::uint64_t inside = 200'000;

}  // namespace

int main() {
  const unsigned threads = work::processors();
  const work::clock clock{std::chrono::milliseconds{700}};
  // With few threads it takes more time outside for so many to be in line.
  const std::uint64_t outside = inside * (threads - 1) * 6 / 10;
  work::in_threads(threads, [&](unsigned number) {
    work::random random{number};
    while (clock.runs()) {
      {
        const work::guard hold{queue};
        work::compute(inside);
      }
      work::compute(random.around(outside));
    }
  });
}
