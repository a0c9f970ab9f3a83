// Threads that poll a mutex with trylock until they have it.
#include "work.hpp"

int main(int count, char** words) {
  const work::changes given{count, words, {"--section", "--shards", "--lock"}};
  const auto inside = static_cast<std::uint64_t>(20'000 * given.value("--section", 1));
  const bool locks = given.has("--lock");
  work::shards items{given.count("--shards", 1)};
  work::meter meter;
  const work::clock clock{std::chrono::milliseconds{400}};
  work::in_threads(work::processors(), [&](unsigned number) {
    work::random random{number};
    std::uint64_t taken = 0;
    for (; clock.runs(); ++taken) {
      pthread_mutex_t& item = items.any(random);
      if (locks) {
        pthread_mutex_lock(&item);
      } else {
        while (pthread_mutex_trylock(&item) != 0) {
        }
      }
      work::compute(inside);
      pthread_mutex_unlock(&item);
      work::compute(random.around(20'000) + (20'000 - inside));
    }
    meter.add(taken);
  });
}
