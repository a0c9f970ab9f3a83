// Everything happens under one mutex: nearly all threads stand in line at any time.
#include "work.hpp"

namespace {

pthread_mutex_t everything = PTHREAD_MUTEX_INITIALIZER;

}  // namespace

int main() {
  const work::clock clock{std::chrono::milliseconds{700}};
  work::in_threads(work::processors(), [&](unsigned) {
    while (clock.runs()) {
      {
        const work::guard hold{everything};
        work::compute(200'000);
      }
      work::compute(2'000);
    }
  });
}
