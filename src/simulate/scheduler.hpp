// Which thread runs on which processor: run queues, time slices, wake-ups, idle processors.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "caches.hpp"
#include "counts.hpp"
#include "events.hpp"
#include "machine.hpp"
#include "run_queue.hpp"
#include "thread.hpp"

namespace lockwright::simulate {

class scheduler {
 public:
  scheduler(const machine& m, timeline& t, counts& c, caches& lines)
      : machine_{m}, timeline_{t}, counts_{c}, caches_{lines} {}

  void open() { processors_.resize(machine_.processors(), processor_state(machine_.all)); }

  /// A new thread, ready on a processor.
  void add(thread& t, std::uint32_t processor);

  /// The caller's thread leaves its processor to the next one.
  void leave(thread& t, thread_state now);
  /// The same, but it waits for its next turn. gives_up: it yields.
  void requeue(thread& t, bool gives_up = false);
  [[nodiscard]] bool is_wanted(std::uint32_t processor) const {
    return !processors_[processor].queue.empty();
  }

  /// A sleeper is woken: it can run after a while, which depends on where. Returns what the caller
  /// pays for an interrupt of another processor. waker: null for the end of a sleep by its deadline.
  picoseconds wake(thread& t, const thread* waker);

  /// The caller's thread moves to another processor than its own, and is bound to that.
  void move(thread& t, std::uint32_t processor);

  // Events.
  void on_ready(thread& t);
  void on_slice_end(std::uint32_t processor, std::uint64_t slice);

  /// The thread computes until `at`.
  void compute_until(thread& t, picoseconds at);

  /// It skips polls for so many iterations, unless a line is taken away.
  void poll(thread& t, std::uint64_t iterations);
  /// Ends that for the pollers of a line.
  void end_polling(std::uint32_t line);
  void unwatch(thread& t);

  /// Threads that run or could run.
  [[nodiscard]] std::uint32_t runnable() const { return runnable_; }

  /// Thousandths that work takes on this processor by its core's speed and what its siblings do.
  [[nodiscard]] std::uint64_t slowness(std::uint32_t processor) const;

  /// Adds up to now what processors have spent running and idle.
  void settle();

  /// Processors that do something or have done in the simulation.
  [[nodiscard]] std::uint32_t processors() const {
    return static_cast<std::uint32_t>(processors_.size());
  }

 private:
  struct processor_state {
    explicit processor_state(const figures& f) : queue{f} {}
    thread* running = nullptr;
    run_queue queue;
    std::uint32_t expected = 0;  ///< threads that were woken for it
    std::uint64_t slice = 0;
    bool slice_ends = false;  ///< an event is set for its end
    picoseconds slice_began = 0;
    picoseconds since = 0;  ///< when its accounts were settled
    picoseconds idle_since = 0;
  };

  /// A new, woken or moved thread joins the queue of its processor, and may preempt what runs there.
  void arrive(thread& t);
  /// Gives the processor to the next thread of its queue, or of another one's.
  void dispatch(std::uint32_t at);
  /// Idle processors take over threads that wait for this one.
  void share_with_idle(std::uint32_t at);
  void vacate(std::uint32_t at);
  thread* take_from_others(std::uint32_t at);
  void watch_slice(std::uint32_t at);
  void take_away(std::uint32_t at);
  void settle(processor_state& p);
  [[nodiscard]] bool is_free(std::uint32_t at) const {
    const processor_state& p = processors_[at];
    return p.running == nullptr && p.expected == 0 && p.queue.empty();
  }
  [[nodiscard]] std::uint32_t choose(const thread& t, const thread* waker) const;
  void stop_polling(thread& t, bool to_next);

  const machine& machine_;
  timeline& timeline_;
  counts& counts_;
  caches& caches_;
  std::vector<processor_state> processors_;
  std::uint32_t runnable_ = 0;
};

}  // namespace lockwright::simulate
