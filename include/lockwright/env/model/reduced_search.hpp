// The search through every interleaving, but only one of those that differ in the order of
// independent steps.
#pragma once

#include <cstdint>

#include "lockwright/env/model/execution.hpp"

namespace lockwright::model_env {

/// Relacy's exhaustive search with sleep sets (P. Godefroid, "Partial-Order
/// Methods for the Verification of Concurrent Systems", LNCS 1032, 1996).
///
/// At each choice between threads, those that were tried first are asleep after the later ones:
/// running such a thread now would repeat, in another order, what was searched already. It wakes
/// up at the first step that does not commute with its own next step. When every thread that could
/// proceed is asleep, the rest of the execution is a repetition; it is run to its end, because
/// Relacy cannot abandon it, but nothing more is varied.
///
/// Steps commute if they are at different objects, or both only load. That is enough, because
/// memory orders are represented as clocks by thread and by object, and the race detector compares
/// the clocks, not the order of steps.
template <rl::thread_id_t Threads>
class reduced_search
    : public rl::tree_search_scheduler<reduced_search<Threads>,
                                       rl::tree_search_scheduler_thread_info<Threads>, Threads> {
  using base = rl::tree_search_scheduler<reduced_search,
                                         rl::tree_search_scheduler_thread_info<Threads>, Threads>;

 public:
  using thread_info_t = typename base::thread_info_t;
  using shared_context_t = typename base::shared_context_t;

  using base::base;

  rl::thread_id_t iteration_begin_impl() {
    this->stree_depth_ = 0;
    asleep_ = 0;
    repetition_ = false;
    return 0;  // Until its first step a thread does nothing that others can observe.
  }

  unsigned rand_impl(unsigned limit, rl::sched_type type) {
    return repetition_ ? 0 : base::rand_impl(limit, type);
  }

  rl::thread_id_t schedule_impl(rl::unpark_reason& reason, unsigned yield) {
    reason = rl::unpark_reason_normal;
    unblock_yielders();
    if (yield != 0) {
      this->yield_priority(yield);
    }
    if (this->running_threads_count == 0 && this->timed_thread_count_ != 0) {
      this->purge_blocked_threads();  // A thread that yielded to sleepers need not wait for them.
      if (this->running_threads_count == 0) {
        return wake_by_time(reason);
      }
    }
    return choose_thread();
  }

  bool can_switch(thread_info_t&) { return true; }
  void on_switch(thread_info_t&) {}

  double iteration_count_approx() { return 1; }

 private:
  /// No thread can proceed, so time passes until one of the deadlines.
  rl::thread_id_t wake_by_time(rl::unpark_reason& reason) {
    const auto count = static_cast<unsigned>(this->timed_thread_count_);
    const unsigned index = count == 1 ? 0 : this->rand(count, rl::sched_type_user);
    const rl::thread_id_t thread = this->timed_threads_[index]->index_;
    this->unpark_thread(thread);
    reason = rl::unpark_reason_timeout;
    return thread;
  }

  /// As in Relacy's own search: a thread that yielded waits until each other thread that can
  /// proceed has been scheduled.
  void unblock_yielders() {
    thread_info_t& self = *this->thread_;
    if (self.total_yield_priority_ == 0) {
      return;
    }
    for (rl::thread_id_t i = 0; i != Threads; ++i) {
      unsigned& priority = self.yield_priority_[i];
      if (priority != 0) {
        --priority;
        --self.total_yield_priority_;
        if (priority == 0) {
          this->unblock_thread(i);
        }
      }
      ++self.yield_sched_count_[i];
    }
  }

  rl::thread_id_t choose_thread() {
    rl::thread_id_t awake[Threads];
    unsigned count = 0;
    for (rl::thread_id_t i = 0; i != this->running_threads_count; ++i) {
      const rl::thread_id_t thread = this->running_threads[static_cast<std::size_t>(i)];
      if (next_of(thread).what == next_step::nothing) {
        return thread;  // No other thread can observe when it takes its next step.
      }
      if ((asleep_ >> thread & 1) == 0) {
        awake[count++] = thread;
      }
    }
    if (count == 0) {
      repetition_ = true;
    }
    if (repetition_) {
      return this->running_threads[0];
    }
    const unsigned index = count == 1 ? 0 : this->rand(count, rl::sched_type_sched);
    for (unsigned i = 0; i != index; ++i) {
      asleep_ |= 1u << awake[i];
    }
    const rl::thread_id_t chosen = awake[index];
    for (rl::thread_id_t i = 0; i != Threads; ++i) {
      if ((asleep_ >> i & 1) != 0 && !next_of(i).commutes_with(next_of(chosen))) {
        asleep_ &= ~(1u << i);
      }
    }
    return chosen;
  }

  static const next_step& next_of(rl::thread_id_t thread) {
    return execution_now.threads[thread].next;
  }

  std::uint32_t asleep_ = 0;
  bool repetition_ = false;
};

}  // namespace lockwright::model_env
