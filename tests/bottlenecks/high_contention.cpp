// Requests that work, then write to a log under its mutex: at any time some threads wait.
#include "work.hpp"

namespace {

pthread_mutex_t log = PTHREAD_MUTEX_INITIALIZER;

}  // namespace

int main() {
  const work::clock clock{std::chrono::milliseconds{600}};
  work::in_threads(8, [&](unsigned number) {
    work::random random{number};
    while (clock.runs()) {
      work::wait_for_device(random.around(5'000));
      const work::guard hold{log};
      work::wait_for_device(1'000);
    }
  });
}
