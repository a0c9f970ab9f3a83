#include "rw_site.hpp"

#include <algorithm>
#include <string>

#include "lock_call.hpp"

namespace lockwright::simulate {
namespace {

constexpr std::size_t words_per_pair = cache_line_pair / sizeof(std::uint64_t);

}  // namespace

rw_site::rw_site(simulation& in, const rwlock_entry& lock, std::uint64_t data_lines, rw_record& all,
                 trace* shown)
    : simulation_{in},
      entry_{lock},
      record_{all},
      trace_{shown},
      lock_{in.memory.cut(lock.bytes, cache_line_pair)},
      data_lines_{data_lines} {
  entry_.make(lock_);
  // The data starts on a cache line pair of its own, apart from the lock.
  data_ = static_cast<std::uint64_t*>(
      in.memory.cut((data_lines + 1) * cache_line_pair, cache_line_pair));
}

void rw_site::lock_read() {
  simulation_.pass_time();
  const picoseconds called = simulation_.time.now;
  const lock_call call{simulation_};
  if (!entry_.lock_read(lock_)) {
    fail("the lock is broken: it did not admit a reader");
  }
  if (writer_ != nullptr) {
    fail_exclusion("a reader");
  }
  record_.most_readers = std::max(record_.most_readers, ++readers_);
  enter(called, record_.longest_read_wait);
}

void rw_site::unlock_read() {
  leave(record_.reads);
  --readers_;
  const lock_call call{simulation_};
  entry_.unlock_read(lock_);
}

void rw_site::lock_write() {
  simulation_.pass_time();
  const picoseconds called = simulation_.time.now;
  const lock_call call{simulation_};
  entry_.lock_write(lock_);
  if (writer_ != nullptr || readers_ != 0) {
    fail_exclusion("a writer");
  }
  writer_ = simulation_.caller();
  enter(called, record_.longest_write_wait);
}

void rw_site::unlock_write() {
  leave(record_.writes);
  writer_ = nullptr;
  const lock_call call{simulation_};
  entry_.unlock_write(lock_);
}

void rw_site::fail_exclusion(const char* entering) const {
  const std::string inside = writer_ != nullptr ? "writer " + std::to_string(writer_->number)
                                                : std::to_string(readers_) + " readers";
  fail("the lock is broken: thread " + std::to_string(simulation_.caller()->number) +
       " is inside as " + entering + " beside " + inside + ", at " +
       std::to_string(simulation_.time.now / 1000) + " ns");
}

void rw_site::enter(picoseconds called, picoseconds& longest_wait) {
  const picoseconds now = simulation_.time.now;
  const std::uint32_t number = simulation_.caller()->number;
  if (number >= stays_.size()) {
    stays_.resize(number + 1);
  }
  stays_[number] = {called, now};
  if (simulation_.measures()) {
    ++simulation_.counted.acquisitions;
  }
  // Otherwise the wait of a thread that is not admitted before the end would not count.
  if (simulation_.measures() || simulation_.is_over()) {
    const picoseconds until = std::min(now, simulation_.ends_at());
    longest_wait = std::max(longest_wait, until - std::min(called, until));
  }
}

void rw_site::leave(std::uint64_t& sections) {
  simulation_.pass_time();
  if (!simulation_.measures()) {
    return;
  }
  ++sections;
  if (trace_ != nullptr) {
    const thread& me = *simulation_.caller();
    trace_->held(me, stays_[me.number].called, stays_[me.number].entered, simulation_.time.now);
  }
}

void rw_site::check_data() {
  for (std::uint64_t i = 0; i < data_lines_; ++i) {
    const std::uint64_t* word = data_ + i * words_per_pair;
    if (simulation_.load(word, sizeof *word) != changes_) {
      fail("the lock is broken: thread " + std::to_string(simulation_.caller()->number) +
           " does not see what the last writer wrote");
    }
  }
}

void rw_site::change_data() {
  check_data();
  ++changes_;
  for (std::uint64_t i = 0; i < data_lines_; ++i) {
    std::uint64_t* word = data_ + i * words_per_pair;
    simulation_.store(word, changes_, sizeof *word);
  }
}

}  // namespace lockwright::simulate
