// A machine with round figures, and threads on it that record the times of their steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "machine.hpp"
#include "simulation.hpp"

namespace worked_examples {

using namespace lockwright::simulate;

constexpr picoseconds ns = 1000;

/// Returns a machine of two nodes of two caches of two cores, without chance or store buffers.
inline figures round_figures() {
  figures f;
  f.packages = 1;
  f.nodes_per_package = 2;
  f.caches_per_node = 2;
  f.cores_per_cache = 2;
  f.threads_per_core = 1;
  f.load_hit = 1 * ns;
  f.store_hit = 1 * ns;
  f.rmw_hit = 10 * ns;
  f.load = {1 * ns, 40 * ns, 80 * ns, 160 * ns, 320 * ns, 640 * ns};
  f.store = {1 * ns, 50 * ns, 90 * ns, 170 * ns, 330 * ns, 650 * ns};
  f.rmw = {1 * ns, 60 * ns, 100 * ns, 180 * ns, 340 * ns, 660 * ns};
  f.memory = {70 * ns, 75 * ns, 100 * ns, 200 * ns, 400 * ns, 800 * ns};
  f.shared_read = 5 * ns;
  f.invalidate = 3 * ns;
  f.pause = 20 * ns;
  f.turn = 1 * ns;
  f.cycle = 1 * ns;
  f.smt_busy = 1000;
  f.smt_pausing = 1000;
  f.cache_bytes = 1 << 20;
  f.cache_read = 10 * ns;
  f.cache_miss = 100 * ns;
  f.futex_sleep = 1'000 * ns;
  f.futex_wake = 1'500 * ns;
  f.futex_miss = 300 * ns;
  f.wake_latency = 5'000 * ns;
  f.idle_depth = 1'000'000 * ns;
  f.idle_exit = 50'000 * ns;
  f.switch_thread = 0;
  f.yield = 100 * ns;
  f.slice = 1'000'000 * ns;
  return f;
}

/// Runs functions as threads on processors, and records their notes.
class scenario {
 public:
  explicit scenario(const figures& f) {
    machine_.use(f);
    sim = std::make_unique<simulation>(machine_, 1);
    // The first line of a page, whose home is the node of its first accessor.
    word = static_cast<std::uint64_t*>(sim->memory.cut(4096, 4096));
  }

  void on(std::uint32_t processor, std::function<void()> body) {
    sim->add(processor, std::move(body));
  }
  /// Adds a thread that sleeps on the word, and notes "woken".
  void sleeper_on(std::uint32_t processor) {
    on(processor, [this] {
      sim->sleep(word, 0, ~std::uint64_t{0});
      note("woken");
    });
  }
  /// Adds a thread that wakes a sleeper at 10000 ns, and notes "waker".
  void waker_on(std::uint32_t processor) {
    on(processor, [this] {
      sim->spend(10'000 * ns);
      sim->wake(word, 1);
      note("waker");
    });
  }
  void run() { sim->run(0, 1); }

  /// Records the current time in nanoseconds.
  void note(const std::string& step) {
    sim->pass_time();
    times.emplace_back(step, sim->time.now / ns);
  }
  void change() {
    sim->begin_change(word);
    ++*word;
  }
  std::uint64_t load() { return sim->load(word, sizeof *word); }

  std::unique_ptr<simulation> sim;
  std::uint64_t* word = nullptr;
  std::vector<std::pair<std::string, std::uint64_t>> times;

 private:
  machine machine_;
};

using times = std::vector<std::pair<std::string, std::uint64_t>>;

}  // namespace worked_examples
