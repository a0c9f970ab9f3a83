// One running phase: its mutexes, its threads and its clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <vector>

#include "guarded.hpp"
#include "plan.hpp"
#include "settings.hpp"
#include "worker.hpp"

namespace torture {

class stopper;

class phase_run {
 public:
  // The period of the main loop. Patience is counted in ticks, so that a delay of the whole process
  // (a stop, a busy machine) is not taken for a thread's fault.
  static constexpr std::uint64_t tick_ns = 5'000'000;

  phase_run(const settings& given, const phase& planned);
  phase_run(const phase_run&) = delete;
  phase_run& operator=(const phase_run&) = delete;
  ~phase_run();

  const settings& options;
  const phase& plan;

  // Before run(): a thread and its function, which returns once over() is true.
  worker& add_worker(const char* role, std::function<void(worker&)> body);
  // A worker without a thread, to be started by other workers.
  worker& add_helper(const char* role);
  // A check to run when all threads have ended.
  void afterwards(std::function<void()> check) { checks_.push_back(std::move(check)); }

  // Sections outside the mutexes that were counted inside, once all threads have ended.
  void also_counted(std::function<std::uint64_t()> count) { counts_.push_back(std::move(count)); }

  // Runs all threads for this time, disturbs and watches them, and returns when they have ended.
  void run(double seconds, stopper& stops);

  [[nodiscard]] bool over() const { return over_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t tick() const { return tick_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t patience_ticks() const { return patience_; }
  [[nodiscard]] double seconds_since(std::uint64_t tick) const;

  // For the threads: the work of a section and of a gap, and the points where they can be halted.
  void section(worker& me) const;
  void gap(worker& me);
  void pause_if_halted(worker& me);
  guarded& any_mutex(worker& me) { return mutexes_[me.draw.below(mutexes_.size())]; }

  // Starts a helper's thread, and joins it. Returns the thread's result.
  void start_helper(worker& child, std::function<void(worker&)> body);
  void* join_helper(worker& child);

  void halt(bool on);

  [[nodiscard]] const std::deque<worker>& workers() const { return workers_; }
  [[nodiscard]] std::deque<worker>& workers() { return workers_; }
  [[nodiscard]] const std::deque<guarded>& mutexes() const { return mutexes_; }
  [[nodiscard]] std::deque<guarded>& mutexes() { return mutexes_; }
  [[nodiscard]] std::uint64_t sections() const;

  void show(std::FILE* to) const;

 private:
  static void* enter(void* at);
  void start(worker& target);
  void check_totals() const;

  const std::uint64_t patience_;
  std::deque<guarded> mutexes_;
  std::deque<worker> workers_;
  std::vector<std::function<void()>> checks_;
  std::vector<std::function<std::uint64_t()>> counts_;
  alignas(cache_line_pair) std::atomic<std::uint64_t> tick_{0};
  std::atomic<bool> over_{false};
  alignas(cache_line_pair) std::atomic<std::uint32_t> halted_{0};
};

}  // namespace torture
