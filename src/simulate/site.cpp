#include "site.hpp"

#include <algorithm>
#include <string>

#include "lock_call.hpp"

namespace lockwright::simulate {

site::site(simulation& in, const lock_entry& lock, std::uint64_t data_lines, record& all,
           trace* shown)
    : simulation_{in},
      entry_{lock},
      record_{all},
      trace_{shown},
      lock_{in.memory.cut(lock.bytes, cache_line_pair)},
      data_lines_{data_lines} {
  entry_.make(lock_);
  // What comes next in memory begins apart from the lock.
  data_ = static_cast<std::uint64_t*>(
      in.memory.cut((data_lines + 1) * cache_line_pair, cache_line_pair));
}

void site::lock() {
  simulation_.pass_time();
  const picoseconds called = simulation_.time.now;
  const lock_call call{simulation_};
  const bool contended = entry_.lock(lock_);
  entered(called, contended);
}

bool site::try_lock() {
  simulation_.pass_time();
  const picoseconds called = simulation_.time.now;
  const lock_call call{simulation_};
  if (!entry_.try_lock(lock_)) {
    return false;
  }
  entered(called, false);
  return true;
}

void site::entered(picoseconds called, bool contended) {
  const thread* me = simulation_.caller();
  if (holder_ != nullptr) {
    fail("the lock is broken: threads " + std::to_string(holder_->number) + " and " +
         std::to_string(me->number) + " are inside at once, at " +
         std::to_string(simulation_.time.now / 1000) + " ns");
  }
  holder_ = me;
  ++record_.taken;
  called_ = called;
  entered_ = simulation_.time.now;
  const std::uint32_t core = simulation_.core_of(*me);
  if (simulation_.measures() || simulation_.is_over()) {
    const picoseconds until = std::min(entered_, simulation_.ends_at());
    record_.longest_wait = std::max(record_.longest_wait, until - std::min(called, until));
  }
  if (simulation_.measures()) {
    counts& all = simulation_.counted;
    ++all.acquisitions;
    all.contended += contended ? 1 : 0;
    if (last_holder_ == me) {
      ++all.same_thread;
    } else if (last_holder_ != nullptr) {
      ++all.handovers[static_cast<std::size_t>(simulation_.on().between_cores(last_core_, core))];
    }
    record_.holders.push_back(me->number);
    record_.waits.push_back(entered_ - called);
    if (released_ > called) {
      ++all.handed_over;
      all.handover_time += entered_ - released_;
    }
  }
  last_holder_ = me;
  last_core_ = core;
}

void site::unlock() {
  simulation_.pass_time();
  const thread* me = simulation_.caller();
  if (holder_ != me) {
    fail("the workload is broken: it unlocks what it does not hold");
  }
  if (trace_ != nullptr && simulation_.measures()) {
    trace_->held(*me, called_, entered_, simulation_.time.now);
  }
  last_core_ = simulation_.core_of(*me);
  holder_ = nullptr;
  released_ = simulation_.time.now;
  const lock_call call{simulation_};
  entry_.unlock(lock_);
}

void site::change_data() {
  constexpr std::size_t words_per_pair = cache_line_pair / sizeof(std::uint64_t);
  for (std::uint64_t i = 0; i < data_lines_; ++i) {
    std::uint64_t* word = data_ + i * words_per_pair;
    const std::uint64_t before = simulation_.load(word, sizeof *word);
    if (before != changes_) {
      fail("the lock is broken: thread " + std::to_string(simulation_.caller()->number) +
           " does not see what the last holder wrote");
    }
    simulation_.store(word, before + 1, sizeof *word);
  }
  ++changes_;
}

}  // namespace lockwright::simulate
