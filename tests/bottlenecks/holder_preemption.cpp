// Four threads for each processor compute, and sometimes hold a mutex for about a time slice: the
// holder is often preempted.
#include "work.hpp"

namespace {

pthread_mutex_t log = PTHREAD_MUTEX_INITIALIZER;

}  // namespace

int main() {
  const work::clock clock{std::chrono::milliseconds{900}};
  work::in_threads(4 * work::processors(), [&](unsigned number) {
    work::random random{number};
    while (clock.runs()) {
      work::compute(random.around(20'000'000));
      const work::guard hold{log};
      work::compute(1'000'000);
    }
  });
}
