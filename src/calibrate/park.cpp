// The cost of a sleep and a wake: two threads pass one word back and forth by futex.
//
// A lock that spins before it parks should spin about as long as the sleep that it avoids takes.
#include <algorithm>
#include <vector>

#include "probes.hpp"

namespace bench {
namespace {

// Waits without spinning until the word has the value.
void await_turn(std::atomic<std::uint32_t>& turn, std::uint32_t value) {
  for (std::uint32_t seen = turn.load(); seen != value; seen = turn.load()) {
    futex_wait(turn, seen);
  }
}

std::uint64_t at_fraction(const std::vector<std::uint64_t>& sorted, double fraction) {
  return sorted[static_cast<std::size_t>(fraction * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

int park(const options& given) {
  alignas(cache_line_pair) static std::atomic<std::uint32_t> turn{0};
  const std::uint64_t trips = given.count("trips", 1);
  other_thread other(given.processor("cpu-b"), [&] {
    for (std::uint64_t i = 0; i < trips; ++i) {
      await_turn(turn, 1);
      turn.store(0);
      futex_wake(turn, 1);
    }
  });
  pin_to(given.processor("cpu-a"));
  other.start();

  std::vector<std::uint64_t> trip_ns(trips);
  std::vector<std::uint64_t> wake_ns(trips);
  const switches before = switches_so_far();
  for (std::uint64_t i = 0; i < trips; ++i) {
    const std::uint64_t started = now_ns();
    turn.store(1);
    futex_wake(turn, 1);
    const std::uint64_t woke = now_ns();
    await_turn(turn, 0);
    trip_ns[i] = now_ns() - started;
    wake_ns[i] = woke - started;
  }
  const switches after = switches_so_far();
  other.join();
  std::sort(trip_ns.begin(), trip_ns.end());
  std::sort(wake_ns.begin(), wake_ns.end());
  result("park", "result")
      .field("trips", trips)
      .field("median_trip_ns", at_fraction(trip_ns, 0.5))
      .field("p10_trip_ns", at_fraction(trip_ns, 0.1))
      .field("p90_trip_ns", at_fraction(trip_ns, 0.9))
      .field("median_wake_ns", at_fraction(wake_ns, 0.5))
      .field("voluntary", after.voluntary - before.voluntary)
      .field("involuntary", after.involuntary - before.involuntary)
      .print();
  return 0;
}

}  // namespace bench
