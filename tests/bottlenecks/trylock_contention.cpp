// Threads that poll a mutex with trylock until they have it.
#include "work.hpp"

namespace {

pthread_mutex_t item = PTHREAD_MUTEX_INITIALIZER;

}  // namespace

int main() {
  const work::clock clock{std::chrono::milliseconds{400}};
  work::in_threads(work::processors(), [&](unsigned number) {
    work::random random{number};
    while (clock.runs()) {
      while (pthread_mutex_trylock(&item) != 0) {
      }
      work::compute(20'000);
      pthread_mutex_unlock(&item);
      work::compute(random.around(20'000));
    }
  });
}
