#include "run_queue.hpp"

#include <algorithm>
#include <utility>

namespace lockwright::simulate {

std::int64_t run_queue::zero(const thread* running) const {
  std::int64_t sum = 0;
  std::int64_t least = INT64_MAX;
  std::int64_t count = 0;
  const auto add = [&](const thread& t) {
    // Relative to the floor, so that a sum of many does not overflow.
    const std::int64_t runtime = t.fairness.runtime - floor_;
    sum += runtime;
    least = std::min(least, runtime);
    ++count;
  };
  for (const thread* t : waiting_) {
    add(*t);
  }
  if (running != nullptr) {
    add(*running);
  }
  if (count == 0) {
    return floor_;
  }
  return is_cfs() ? std::max(floor_, floor_ + least) : floor_ + sum / count;
}

void run_queue::charge(thread& running, picoseconds ran) {
  share& s = running.fairness;
  s.runtime += static_cast<std::int64_t>(ran);
  if (s.runtime >= s.deadline) {
    s.deadline = s.runtime + static_cast<std::int64_t>(all_->slice);
  }
  floor_ = std::max(floor_, zero(&running));
}

void run_queue::put_back(thread& t, bool gives_up) {
  if (gives_up && is_fair() && !is_cfs() && t.fairness.runtime <= zero(&t)) {
    t.fairness.runtime = t.fairness.deadline;
    t.fairness.deadline += static_cast<std::int64_t>(all_->slice);
  }
  waiting_.push_back(&t);
}

std::int64_t run_queue::placed(const thread& t, const thread* running) const {
  const std::int64_t base = zero(running);
  const share& s = t.fairness;
  // A thread that slept here keeps its run time, which the others may have reached meanwhile.
  const std::int64_t lag = s.left == this ? base - s.runtime : s.lag;
  if (is_cfs()) {
    return base - std::min(lag, static_cast<std::int64_t>(all_->period / 2));
  }
  const auto others = static_cast<std::int64_t>(waiting_.size() + (running == nullptr ? 0 : 1));
  if (others == 0) {
    return base;
  }
  // A lag that it had is the same after it has joined, which changes the average; one too much is
  // worked off asleep.
  const std::int64_t kept = s.lag < 0 ? std::min(std::max(lag, s.lag), std::int64_t{0}) : s.lag;
  return base - kept * (others + 1) / others;
}

void run_queue::join(thread& t, const thread* running) {
  if (is_fair()) {
    t.fairness.runtime = placed(t, running);
    const std::int64_t slice = std::exchange(t.fairness.slice_left, 0);
    t.fairness.deadline =
        t.fairness.runtime + (slice != 0 ? slice : static_cast<std::int64_t>(all_->slice));
  }
  waiting_.push_back(&t);
}

void run_queue::make_first(thread& t) {
  const auto at = std::find(waiting_.begin(), waiting_.end(), &t);
  std::rotate(waiting_.begin(), at, at + 1);
}

std::int64_t run_queue::slice_left(const thread& t) const {
  return is_fair() && !is_cfs() ? t.fairness.deadline - t.fairness.runtime : 0;
}

picoseconds run_queue::used_slice(const thread& t) const {
  const std::int64_t left = slice_left(t);
  return left == 0 ? 0 : all_->slice - static_cast<picoseconds>(left);
}

void run_queue::leave(thread& running, bool moves) {
  share& s = running.fairness;
  const auto most = static_cast<std::int64_t>(std::max(2 * all_->slice, all_->tick));
  s.lag = zero(&running) - s.runtime;
  if (!is_cfs()) {
    s.lag = std::clamp(s.lag, -most, most);
  }
  s.left = this;
  s.slice_left = moves ? slice_left(running) : 0;
}

void run_queue::forget(thread& sleeper) const {
  share& s = sleeper.fairness;
  if (is_cfs() && s.left == this) {
    s.lag = floor_ - s.runtime;
  }
  s.left = nullptr;
}

std::size_t run_queue::first(const thread* running) const {
  if (!is_fair() || waiting_.empty()) {
    return 0;
  }
  const auto key = [this](const thread& t) {
    return is_cfs() ? t.fairness.runtime : t.fairness.deadline;
  };
  const std::int64_t average = zero(running);
  const auto is_eligible = [&](const thread& t) {
    return is_cfs() || t.fairness.runtime <= average;
  };
  std::size_t best = waiting_.size();
  std::int64_t earliest = running != nullptr && is_eligible(*running) ? key(*running) : INT64_MAX;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (is_eligible(*waiting_[i]) && key(*waiting_[i]) < earliest) {
      best = i;
      earliest = key(*waiting_[i]);
    }
  }
  return best;
}

thread* run_queue::take_next() {
  if (waiting_.empty()) {
    return nullptr;
  }
  const std::size_t at = first(nullptr);
  thread* const t = waiting_[at];
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(at));
  return t;
}

bool run_queue::precedes(const thread& running) const {
  return !waiting_.empty() && first(&running) != waiting_.size();
}

bool run_queue::preempts(const thread& woken, const thread& running, picoseconds ran) const {
  if (all_->wake_preempts == 0) {
    return false;
  }
  if (is_fair() && is_cfs()) {
    return running.fairness.runtime - woken.fairness.runtime >
           static_cast<std::int64_t>(all_->wake_preempts);
  }
  if (ran < all_->wake_preempts || !is_fair()) {
    return ran >= all_->wake_preempts;
  }
  const std::size_t next = first(&running);
  return next != waiting_.size() && waiting_[next] == &woken;
}

bool run_queue::has_movable(picoseconds now) const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const thread* t) { return may_move(*t, now); });
}

thread* run_queue::take_movable(picoseconds now) {
  auto best = waiting_.end();
  for (auto each = waiting_.begin(); each != waiting_.end(); ++each) {
    if (may_move(**each, now) &&
        (best == waiting_.end() || (*each)->ran_until < (*best)->ran_until)) {
      best = each;
    }
  }
  if (best == waiting_.end()) {
    return nullptr;
  }
  thread* const t = *best;
  t->fairness.lag = zero(nullptr) - t->fairness.runtime;
  t->fairness.left = nullptr;
  t->fairness.slice_left = slice_left(*t);
  waiting_.erase(best);
  return t;
}

}  // namespace lockwright::simulate
