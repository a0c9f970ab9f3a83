// The thread that starts the others and measures them, as that of lockwright-bench does
// (src/bench/workload/thread_group.hpp): it opens a gate at which they sleep, and wakes up when the
// measurement begins and ends.
#pragma once

#include <cstdint>

#include "lockwright/env/simulated.hpp"
#include "simulation.hpp"
#include "workload.hpp"

namespace lockwright::simulate {

class main_thread {
 public:
  main_thread(simulation& in, std::uint32_t others, picoseconds warm_up)
      : in_{in}, others_{others}, warm_up_{warm_up} {}

  /// In another thread: report in, and sleep until the gate opens.
  void pass() {
    arrived_.fetch_add(1);
    simulated::wake(arrived_, 1);
    while (open_.load() == 0) {
      simulated::wait(open_, 0);
    }
  }

  /// In the main thread.
  void run() {
    for (std::uint32_t seen = arrived_.load(); seen < others_; seen = arrived_.load()) {
      simulated::wait(arrived_, seen);
    }
    open_.store(1);
    simulated::wake(open_, ~std::uint32_t{0});
    sleep_until(warm_up_);
    read_counts();
    sleep_until(in_.ends_at());
    read_counts();
  }

 private:
  void sleep_until(picoseconds when) {
    while (in_.time.now < when) {
      simulated::wait_until(bed_, 0, when / 1000);
    }
  }

  /// An estimate: the calls that read the clock and the used time, and a line of each thread.
  void read_counts() {
    constexpr picoseconds calls = 2'000'000;
    constexpr picoseconds of_thread = 50'000;
    in_.spend(calls + others_ * of_thread);
  }

  simulation& in_;
  std::uint32_t others_;
  picoseconds warm_up_;
  simulated::atomic<std::uint32_t>& arrived_{placed<simulated::atomic<std::uint32_t>>(in_, 0u)};
  simulated::atomic<std::uint32_t>& open_{placed<simulated::atomic<std::uint32_t>>(in_, 0u)};
  simulated::atomic<std::uint32_t>& bed_{placed<simulated::atomic<std::uint32_t>>(in_, 0u)};
};

}  // namespace lockwright::simulate
