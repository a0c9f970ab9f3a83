// Four threads for each processor compute, and sometimes hold a mutex for about a time slice: the
// holder is often preempted.
#include "work.hpp"

int main(int count, char** words) {
  const work::changes given{count, words, {"--section", "--shards", "--threads"}};
  const auto inside = static_cast<std::uint64_t>(1'000'000 * given.value("--section", 1));
  work::shards log{given.count("--shards", 1)};
  work::meter meter;
  const work::clock clock{std::chrono::milliseconds{900}};
  work::in_threads(given.count("--threads", 4 * work::processors()), [&](unsigned number) {
    work::random random{number};
    std::uint64_t requests = 0;
    for (; clock.runs(); ++requests) {
      work::compute(random.around(20'000'000) + (1'000'000 - inside));
      const work::guard hold{log.any(random)};
      work::compute(inside);
    }
    meter.add(requests);
  });
}
