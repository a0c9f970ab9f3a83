// One running phase: its mutexes, its threads and its clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <vector>

#include "actor.hpp"
#include "guarded.hpp"
#include "plan.hpp"
#include "settings.hpp"

namespace torture {

class stopper;

class stage {
 public:
  // The period of the main loop. Patience is counted in ticks, so that a delay of the whole process
  // (a stop, a busy machine) is not taken for a thread's fault.
  static constexpr std::uint64_t tick_ns = 5'000'000;

  stage(const settings& given, const phase& planned);
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;
  ~stage();

  const settings& asked;
  const phase& plan;

  // Before run(): a thread and its function, which returns once over() is true.
  actor& cast(const char* role, std::function<void(actor&)> play);
  // A worker without a thread, to be started by other workers.
  actor& understudy(const char* role);
  // A check to run when all threads have ended.
  void afterwards(std::function<void()> check) { checks_.push_back(std::move(check)); }

  // Runs all threads for this time, disturbs and watches them, and returns when they have ended.
  void perform(double seconds, stopper& stops);

  [[nodiscard]] bool over() const { return over_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t tick() const { return tick_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t patience_ticks() const { return patience_; }
  [[nodiscard]] double seconds_since(std::uint64_t tick) const;

  // For the threads: the work of a section and of a gap, and the points where they can be halted.
  void section(actor& me) const;
  void gap(actor& me);
  void rest_if_halted(actor& me);
  guarded& any_mutex(actor& me) { return mutexes_[me.draw.below(mutexes_.size())]; }

  // Starts a helper's thread, and joins it. Returns the thread's result.
  void bear(actor& child, std::function<void(actor&)> play);
  void* bury(actor& child);

  void halt(bool on);

  [[nodiscard]] const std::deque<actor>& actors() const { return actors_; }
  [[nodiscard]] std::deque<actor>& actors() { return actors_; }
  [[nodiscard]] const std::deque<guarded>& mutexes() const { return mutexes_; }
  [[nodiscard]] std::deque<guarded>& mutexes() { return mutexes_; }
  [[nodiscard]] std::uint64_t sections() const;

  void show(std::FILE* to) const;

 private:
  static void* enter(void* at);
  void start(actor& one);
  void check_totals() const;

  const std::uint64_t patience_;
  std::deque<guarded> mutexes_;
  std::deque<actor> actors_;
  std::vector<std::function<void()>> checks_;
  alignas(apart) std::atomic<std::uint64_t> tick_{0};
  std::atomic<bool> over_{false};
  alignas(apart) std::atomic<std::uint32_t> halted_{0};
};

}  // namespace torture
