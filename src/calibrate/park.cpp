// The cost of a sleep and a wake: two threads pass one word back and forth by futex.
//
// A lock that spins before it parks should spin about as long as the sleep that it avoids takes.
#include <algorithm>
#include <vector>

#include "probes.hpp"

namespace bench {
namespace {

struct table {
  alignas(cache_line_pair) std::atomic<std::uint32_t> turn{0};
  gate start;
  std::uint64_t trips = 0;
  std::int64_t cpu = -1;
};

// Waits without spinning until the word has the value, then passes the word on and wakes.
void await_turn(table& t, std::uint32_t value) {
  for (std::uint32_t seen = t.turn.load(); seen != value; seen = t.turn.load()) {
    futex_wait(t.turn, seen);
  }
}

void* return_each(void* at) {
  table& t = *static_cast<table*>(at);
  pin_to(t.cpu);
  t.start.pass();
  for (std::uint64_t i = 0; i < t.trips; ++i) {
    await_turn(t, 1);
    t.turn.store(0);
    futex_wake(t.turn, 1);
  }
  return nullptr;
}

std::uint64_t at_fraction(const std::vector<std::uint64_t>& sorted, double fraction) {
  return sorted[static_cast<std::size_t>(fraction * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

int park(const options& given) {
  static table t;
  t.trips = given.count("trips", 1);
  t.cpu = given.processor("cpu-b");
  pthread_t other;
  must(pthread_create(&other, nullptr, return_each, &t), "pthread_create");
  pin_to(given.processor("cpu-a"));
  t.start.await(1);
  t.start.open();

  std::vector<std::uint64_t> trip_ns(t.trips);
  std::vector<std::uint64_t> wake_ns(t.trips);
  const switches before = switches_so_far();
  for (std::uint64_t i = 0; i < t.trips; ++i) {
    const std::uint64_t started = now_ns();
    t.turn.store(1);
    futex_wake(t.turn, 1);
    const std::uint64_t woke = now_ns();
    await_turn(t, 0);
    trip_ns[i] = now_ns() - started;
    wake_ns[i] = woke - started;
  }
  const switches after = switches_so_far();
  must(pthread_join(other, nullptr), "pthread_join");
  std::sort(trip_ns.begin(), trip_ns.end());
  std::sort(wake_ns.begin(), wake_ns.end());
  result("park", "result")
      .field("trips", t.trips)
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
