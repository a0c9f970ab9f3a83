// Requests that wait for a device, then write to a log in memory under its mutex: at any time some
// threads wait.
#include "work.hpp"

int main(int count, char** words) {
  const work::changes given{count, words, {"--section", "--shards", "--threads"}};
  const double section = given.value("--section", 1);
  // Much longer than waking a thread, which needs a processor for a moment.
  const auto inside = static_cast<std::uint64_t>(4'000 * section);
  work::shards log{given.count("--shards", 1)};
  work::meter meter;
  const work::clock clock{std::chrono::milliseconds{1'000}};
  work::in_threads(given.count("--threads", 8), [&](unsigned number) {
    work::random random{number};
    std::uint64_t requests = 0;
    for (; clock.runs(); ++requests) {
      work::wait_for_device(random.around(16'000) + (4'000 - inside));
      const work::guard hold{log.any(random)};
      work::compute(1'000 * inside);
    }
    meter.add(requests);
  });
}
