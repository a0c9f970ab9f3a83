#include "scheduler.hpp"

#include <algorithm>

namespace lockwright::simulate {

void scheduler::add(thread& t, std::uint32_t at) {
  ++runnable_;
  t.state = thread_state::ready;
  t.processor = at;
  // What threads have run before is not the same for all.
  t.fairness.lag = -static_cast<std::int64_t>(t.random.below(machine_.all.slice / 1000) * 1000);
  arrive(t);
}

void scheduler::arrive(thread& t) {
  processor_state& p = processors_[t.processor];
  settle(p);
  p.queue.join(t, p.running);
  if (p.running == nullptr) {
    dispatch(t.processor);
  } else if (p.queue.preempts(t, *p.running, timeline_.now - p.slice_began)) {
    p.queue.make_first(t);
    take_away(t.processor);
  } else {
    watch_slice(t.processor);
  }
}

void scheduler::watch_slice(std::uint32_t at) {
  processor_state& p = processors_[at];
  if (p.slice_ends || p.running == nullptr || p.queue.empty()) {
    return;
  }
  const figures& f = machine_.all;
  const picoseconds slice =
      f.period == 0 ? f.slice : std::max<picoseconds>(f.slice, f.period / (p.queue.size() + 1));
  p.slice_ends = true;
  picoseconds ends = std::max(timeline_.now, p.slice_began + slice);
  if (f.tick != 0) {
    // Stretches of threads that share a processor vary by a hundredth of a tick: 3.95 to 3.98 ms of 4.
    ends = (ends + f.tick - 1) / f.tick * f.tick + p.running->random.below(f.tick / 100);
  }
  timeline_.add(ends, occasion::slice_ends, at, p.slice);
}

void scheduler::dispatch(std::uint32_t at) {
  picoseconds delay = machine_.all.switch_thread;
  processor_state& p = processors_[at];
  settle(p);
  ++p.slice;
  p.slice_ends = false;
  thread* next = p.queue.take_next();
  if (next == nullptr && p.expected == 0) {
    next = take_from_others(at);
    delay += next == nullptr ? 0 : machine_.all.migration;
  }
  p.running = next;
  if (next == nullptr) {
    return;
  }
  next->processor = at;
  next->gives_way = false;
  ++counts_.switches;
  p.slice_began = timeline_.now - p.queue.used_slice(*next);
  const picoseconds left = next->work_left;
  next->work_left = 0;
  delay = next->random.around(delay, machine_.all.kernel_jitter);
  compute_until(*next, timeline_.now + delay + left);
  watch_slice(at);
}

thread* scheduler::take_from_others(std::uint32_t at) {
  // From the nearest that has one too many; of those equally near, the one with the most.
  const std::uint32_t core = at % machine_.cores();
  std::uint32_t best = at;
  distance best_away = distance::two_hops;
  for (std::uint32_t other = 0; other < processors_.size(); ++other) {
    if (!processors_[other].queue.has_movable(timeline_.now)) {
      continue;
    }
    const distance away = machine_.between_cores(core, other % machine_.cores());
    if (best == at || away < best_away ||
        (away == best_away && processors_[other].queue.size() > processors_[best].queue.size())) {
      best = other;
      best_away = away;
    }
  }
  if (best == at) {
    return nullptr;
  }
  ++counts_.migrations;
  thread* const taken = processors_[best].queue.take_movable(timeline_.now);
  processors_[at].queue.join(*taken, nullptr);
  return processors_[at].queue.take_next();
}

void scheduler::leave(thread& t, thread_state now) {
  t.state = now;
  if (now == thread_state::sleeping || now == thread_state::ended) {
    --runnable_;
  }
  processor_state& p = processors_[t.processor];
  settle(p);
  p.queue.leave(t, false);
  vacate(t.processor);
}

void scheduler::requeue(thread& t, bool gives_up) {
  t.state = thread_state::ready;
  t.gives_way = false;
  processor_state& p = processors_[t.processor];
  settle(p);
  p.queue.put_back(t, gives_up);
  vacate(t.processor);
}

void scheduler::vacate(std::uint32_t at) {
  processor_state& p = processors_[at];
  settle(p);
  p.running->ran_until = timeline_.now;
  p.running = nullptr;
  p.idle_since = timeline_.now;
  dispatch(at);
}

void scheduler::move(thread& t, std::uint32_t to) {
  const std::uint32_t from = t.processor;
  t.bound = true;
  ++counts_.migrations;
  t.state = thread_state::ready;
  t.work_left = machine_.all.migration;
  settle(processors_[from]);
  processors_[from].queue.leave(t, true);
  vacate(from);
  t.processor = to;
  arrive(t);
}

std::uint32_t scheduler::choose(const thread& t, const thread* waker) const {
  if (t.bound || is_free(t.processor)) {
    return t.processor;
  }
  const std::uint32_t core = t.processor % machine_.cores();
  std::uint32_t best = t.processor;
  distance best_away = distance::two_hops;
  for (std::uint32_t other = 0; other < processors_.size(); ++other) {
    if (is_free(other)) {
      const distance away = machine_.between_cores(core, other % machine_.cores());
      if (best == t.processor || away < best_away) {
        best = other;
        best_away = away;
      }
    }
  }
  if (best != t.processor || waker == nullptr || machine_.all.fair == 0) {
    return best;
  }
  // Linux's wake_affine(): where it ran last, unless the waker's processor has less to do.
  const auto load = [this](std::uint32_t at) {
    return processors_[at].queue.size() + processors_[at].expected;
  };
  return load(waker->processor) < load(best) ? waker->processor : best;
}

picoseconds scheduler::wake(thread& t, const thread* waker) {
  ++runnable_;
  ++counts_.wakes;
  const std::uint32_t to = choose(t, waker);
  if (to != t.processor) {
    ++counts_.migrations;
    processor_state& last = processors_[t.processor];
    settle(last);
    last.queue.forget(t);
  }
  processor_state& p = processors_[to];
  t.processor = to;
  t.state = thread_state::ready;
  ++p.expected;
  picoseconds latency = machine_.all.wake_latency;
  if (p.running == nullptr && timeline_.now - p.idle_since >= machine_.all.idle_depth) {
    latency += machine_.all.idle_exit;
  }
  // A thread that only joins the queue of another processor needs no interrupt there.
  const picoseconds patience = machine_.all.wake_preempts;
  const bool preempts =
      p.running == nullptr || (patience != 0 && timeline_.now - p.slice_began >= patience);
  const bool interrupts = waker != nullptr && waker->processor != to && preempts;
  if (interrupts) {
    latency += machine_.all.interrupt_latency;
  }
  latency = t.random.around(latency, machine_.all.kernel_jitter);
  timeline_.add(timeline_.now + latency, occasion::ready, t.number);
  return interrupts ? machine_.all.interrupt : 0;
}

void scheduler::on_ready(thread& t) {
  --processors_[t.processor].expected;
  arrive(t);
}

void scheduler::on_slice_end(std::uint32_t at, std::uint64_t slice) {
  processor_state& p = processors_[at];
  if (p.slice != slice) {
    return;
  }
  p.slice_ends = false;
  share_with_idle(at);
  settle(p);
  if (p.queue.precedes(*p.running)) {
    take_away(at);
  } else {
    p.slice_began = timeline_.now;
    watch_slice(at);
  }
}

void scheduler::share_with_idle(std::uint32_t at) {
  const processor_state& p = processors_[at];
  for (std::uint32_t other = 0; other < processors_.size() && p.queue.has_movable(timeline_.now);
       ++other) {
    if (is_free(other)) {
      dispatch(other);
    }
  }
}

void scheduler::take_away(std::uint32_t at) {
  thread& t = *processors_[at].running;
  switch (t.state) {
    case thread_state::computing:
      t.work_left = t.resumes_at - timeline_.now;
      ++t.resume_number;
      break;
    case thread_state::polling:
      stop_polling(t, false);
      break;
    default:  // It waits for a line, and gives way when that has come.
      t.gives_way = true;
      return;
  }
  ++counts_.preemptions;
  requeue(t);
}

void scheduler::compute_until(thread& t, picoseconds at) {
  t.state = thread_state::computing;
  t.resumes_at = at;
  timeline_.add(at, occasion::resume, t.number, ++t.resume_number);
}

void scheduler::poll(thread& t, std::uint64_t iterations) {
  polling& p = t.poll;
  p.began = timeline_.now;
  p.left = iterations;
  t.state = thread_state::polling;
  for (std::uint32_t i = 0; i < p.last.count; ++i) {
    const std::uint32_t line =
        caches_.number_of(p.last.loads[i].at, t.processor % machine_.cores());
    if (std::find(t.polled_lines.begin(), t.polled_lines.end(), line) == t.polled_lines.end()) {
      t.polled_lines.push_back(line);
      caches_.watch(line, t);
    }
  }
  timeline_.add(p.began + iterations * p.length, occasion::resume, t.number, ++t.resume_number);
}

void scheduler::unwatch(thread& t) {
  for (const std::uint32_t line : t.polled_lines) {
    caches_.unwatch(line, t);
  }
  t.polled_lines.clear();
}

void scheduler::stop_polling(thread& t, bool to_next) {
  polling& p = t.poll;
  unwatch(t);
  ++t.resume_number;
  const picoseconds passed = timeline_.now - p.began;
  p.left = std::min(p.left, (passed + (to_next ? p.length - 1 : 0)) / p.length);
  p.next = 0;
  if (to_next) {
    compute_until(t, p.began + p.left * p.length);
  }
}

void scheduler::end_polling(std::uint32_t line) {
  for (thread* t : caches_.pollers(line)) {
    if (t->state == thread_state::polling) {
      stop_polling(*t, true);
    }
  }
}

std::uint64_t scheduler::slowness(std::uint32_t at) const {
  const figures& f = machine_.all;
  const std::uint64_t alone = machine_.is_slow(at) ? f.slow_work : 1000;
  if (f.threads_per_core == 1) {
    return alone;
  }
  std::uint64_t slowest = 1000;
  for (std::uint32_t other = at % machine_.cores(); other < processors_.size();
       other += machine_.cores()) {
    const thread* beside = other == at ? nullptr : processors_[other].running;
    if (beside != nullptr) {
      const bool polls = beside->state == thread_state::polling || beside->poll.alike != 0;
      slowest = std::max(slowest, polls ? f.smt_pausing : f.smt_busy);
    }
  }
  return slowest * alone / 1000;
}

void scheduler::settle(processor_state& p) {
  const picoseconds now = timeline_.now;
  if (p.running != nullptr) {
    counts_.running += now - p.since;
    p.queue.charge(*p.running, now - p.since);
  } else {
    const picoseconds deep_from = std::max(p.since, p.idle_since + machine_.all.idle_depth);
    const picoseconds deep = now > deep_from ? now - deep_from : 0;
    counts_.deep += deep;
    counts_.idle += now - p.since - deep;
  }
  p.since = now;
}

void scheduler::settle() {
  for (processor_state& p : processors_) {
    settle(p);
  }
}

}  // namespace lockwright::simulate
