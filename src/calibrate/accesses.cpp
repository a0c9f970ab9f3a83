// Durations of loads, stores and read-modify-writes: of lines in the caller's own cache, and of lines
// that another processor has written. `lockwright calibrate --machine-file` writes them into a machine
// file.
#include <vector>

#include "probes.hpp"
#include "random_cycle.hpp"
#include "trials.hpp"

namespace bench {
namespace {

constexpr std::size_t line_count = 128;

// The links of a chase that visits every line once: no prefetcher knows the next one.
struct alignas(cache_line_pair) chased_line {
  std::atomic<std::uint64_t> next{0};
};

struct owner_state {
  chased_line lines[line_count];
  alignas(cache_line_pair) std::atomic<std::uint32_t> rounds_begun{0};
  alignas(cache_line_pair) std::atomic<std::uint32_t> rounds_written{0};
};

// Writes all lines in each round, so that they are modified in its processor's cache.
void write_lines(owner_state& s, std::uint32_t rounds) {
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    while (s.rounds_begun.load(std::memory_order_acquire) != round) {
    }
    for (chased_line& line : s.lines) {
      line.next.fetch_add(0);
    }
    s.rounds_written.store(round, std::memory_order_release);
  }
}

// Each access takes its address from the one before; returns nanoseconds per access.
template <class Access>
double chase(owner_state& s, double ns_per_tick, Access&& access) {
  std::uint64_t place = 0;
  const std::uint64_t began = ticks_after_previous();
  for (std::size_t i = 0; i < line_count; ++i) {
    place = access(s.lines[place]);
  }
  asm volatile("" : : "r"(place));
  return static_cast<double>(ticks_after_previous() - began) * ns_per_tick / line_count;
}

std::uint64_t load_next(chased_line& line) { return line.next.load(std::memory_order_relaxed); }

std::uint64_t change_next(chased_line& line) {
  return line.next.fetch_add(0, std::memory_order_relaxed);
}

// A change, and loads as a lock has them after its read-modify-write: of lines in the caller's cache,
// with values on which it branches as predicted. Nothing waits for their results.
struct change_next_with_loads {
  static constexpr std::size_t loads = 4;
  chased_line words[loads];
  std::uint64_t surprises = 0;

  std::uint64_t operator()(chased_line& line) {
    const std::uint64_t place = change_next(line);
    for (chased_line& word : words) {
      if (word.next.load(std::memory_order_relaxed) != 0) [[unlikely]] {
        ++surprises;
      }
    }
    return place;
  }
};

// The line is fetched for writing before the next store begins, which a fence alone does not bring
// about: a processor requests the lines of later stores early.
struct store_next {
  const std::vector<std::uint64_t>& links;
  std::uint64_t place = 0;
  std::uint64_t operator()(chased_line& line) {
    place = links[place];
    line.next.store(place, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    ticks_after_previous();
    return place;
  }
};

double measure_ns_per_tick() {
  const std::uint64_t began = now_ns();
  const std::uint64_t began_ticks = ticks();
  while (now_ns() - began < 2'000'000) {
  }
  return static_cast<double>(now_ns() - began) / static_cast<double>(ticks() - began_ticks);
}

}  // namespace

int accesses(const options& given) {
  static owner_state s;
  const auto rounds = 3 * static_cast<std::uint32_t>(given.count("rounds", 1));
  const std::vector<std::uint64_t> links = random_cycle(line_count, 0);
  for (std::size_t i = 0; i < line_count; ++i) {
    s.lines[i].next.store(links[i]);
  }
  other_thread other(given.processor("cpu-b"), [&] { write_lines(s, rounds); });
  pin_to(given.processor("cpu-a"));
  other.start();
  const double tick = measure_ns_per_tick();
  static change_next_with_loads with_loads;
  trials change_hit_with_loads, store_hit, change_hit, load, store, change, change_after_load;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    s.rounds_begun.store(round, std::memory_order_release);
    while (s.rounds_written.load(std::memory_order_acquire) != round) {
    }
    // The first chase fetches the lines, the second one finds them.
    switch (round % 3) {
      case 0:
        load.add(chase(s, tick, load_next));
        change_after_load.add(chase(s, tick, change_next));
        break;
      case 1:
        store.add(chase(s, tick, store_next{links}));
        store_hit.add(chase(s, tick, store_next{links}));
        break;
      default:
        change.add(chase(s, tick, change_next));
        change_hit.add(chase(s, tick, change_next));
        change_hit_with_loads.add(chase(s, tick, with_loads));
    }
  }
  other.join();
  result line("accesses", "result");
  store_hit.print(line, "fenced_store_hit");
  change_hit.print(line, "rmw_hit");
  change_hit_with_loads.print(line, "rmw_with_4_loads");
  load.print(line, "load");
  store.print(line, "fenced_store");
  change.print(line, "rmw");
  // As an rmw_hit where a load of a modified line brings it for writing, too.
  change_after_load.print(line, "rmw_after_load");
  line.print();
  return 0;
}

}  // namespace bench
