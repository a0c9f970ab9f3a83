// The threads that wait for one processor, in the order in which its scheduler takes them: FIFO, or
// that of Linux's fair schedulers for threads of one weight. Of CFS: the least run time first
// (kernel/sched/fair.c of Linux 3.13: place_entity, wakeup_preempt_entity, update_min_vruntime,
// task_waking_fair). Of EEVDF: the earliest deadline first, of those threads that have not run for
// longer than the average of the queue (kernel/sched/fair.c of Linux 6.12: place_entity, pick_eevdf,
// update_deadline, yield_task_fair, PLACE_REL_DEADLINE).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine.hpp"
#include "thread.hpp"

namespace lockwright::simulate {

class run_queue {
 public:
  explicit run_queue(const figures& f) : all_{&f} {}

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }

  /// `running` had the processor for that long.
  void charge(thread& running, picoseconds ran);

  /// A thread that loses the processor waits for its next turn. gives_up: it yields.
  void put_back(thread& t, bool gives_up = false);
  /// A thread joins that was woken or moved: a woken one gets a new slice, a moved one keeps its own
  /// under EEVDF. running: null on an idle processor.
  void join(thread& t, const thread* running);
  /// Puts a thread that waits ahead of all others, if the queue is FIFO.
  void make_first(thread& t);
  /// Called before the running thread goes to sleep or moves to another queue.
  void leave(thread& running, bool moves);
  /// Called when a thread that sleeps here is woken for another queue. Under CFS it takes along what
  /// it lacks now; under EEVDF what it lacked when it went to sleep.
  void forget(thread& sleeper) const;

  /// What a thread has used of its slice when it is taken: under CFS and FIFO it begins a new one.
  [[nodiscard]] picoseconds used_slice(const thread& t) const;

  /// Takes out the thread that is to run next; null if none waits.
  thread* take_next();
  /// Whether one of the threads that wait is to run before `running` at the end of its slice.
  [[nodiscard]] bool precedes(const thread& running) const;
  /// Whether a thread that was woken and has joined preempts one that has run for so long in its
  /// slice.
  [[nodiscard]] bool preempts(const thread& woken, const thread& running, picoseconds ran) const;

  /// Takes out the thread that has waited longest of those that may migrate; null if none may.
  thread* take_movable(picoseconds now);
  [[nodiscard]] bool has_movable(picoseconds now) const;

 private:
  [[nodiscard]] bool is_fair() const { return all_->fair != 0; }
  [[nodiscard]] bool is_cfs() const { return all_->period != 0; }
  [[nodiscard]] bool may_move(const thread& t, picoseconds now) const {
    return !t.bound && (t.ran_until == 0 || now - t.ran_until >= all_->cache_hot);
  }
  /// What lags are relative to: the least run time under CFS, which never decreases (min_vruntime);
  /// the average under EEVDF.
  [[nodiscard]] std::int64_t zero(const thread* running) const;
  [[nodiscard]] std::int64_t slice_left(const thread& t) const;
  [[nodiscard]] std::int64_t placed(const thread& t, const thread* running) const;
  /// The place of the thread to take next, their number if none may run before `running`.
  [[nodiscard]] std::size_t first(const thread* running) const;

  const figures* all_;
  std::vector<thread*> waiting_;
  std::int64_t floor_ = 0;  ///< where a thread begins in an empty queue
};

}  // namespace lockwright::simulate
