// A pthread reader-writer lock with the data that it guards, the throughput and the longest waits of
// its users, and the cost of an uncontended pair of calls.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "../calibrate/support.hpp"
#include "workload/report.hpp"
#include "workload/settings.hpp"

namespace bench {

class rwlock_calls {
 public:
  // What one thread did. Written by that thread, read by the measuring one during the run.
  struct alignas(cache_line_pair) tally {
    std::atomic<std::uint64_t> reads{0};
    std::atomic<std::uint64_t> writes{0};
    std::atomic<std::uint64_t> longest_read_wait{0};   // ticks
    std::atomic<std::uint64_t> longest_write_wait{0};  // ticks
    std::atomic<std::uint64_t> torn{0};
  };

  class user {
   public:
    user(rwlock_calls& all, std::size_t index) : all_{all}, tally_{all.tallies_[index]} {}

    void lock_read() { take(pthread_rwlock_rdlock, tally_.longest_read_wait); }
    void begin_look() { seen_ = all_.first_; }
    void end_look() { check(seen_ == all_.second_); }
    void unlock_read() { give_back(tally_.reads); }

    void lock_write() { take(pthread_rwlock_wrlock, tally_.longest_write_wait); }
    void begin_change() { all_.first_ = all_.first_ + 1; }
    void end_change() {
      all_.second_ = all_.second_ + 1;
      check(all_.first_ == all_.second_);
    }
    void unlock_write() { give_back(tally_.writes); }

   private:
    static void increment(std::atomic<std::uint64_t>& counter) {
      counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    template <class Lock>
    void take(Lock lock_for, std::atomic<std::uint64_t>& longest) {
      const std::uint64_t called = ticks();
      must(lock_for(&all_.lock_), "a pthread_rwlock call");
      const std::uint64_t waited = ticks() - called;
      if (waited > longest.load(std::memory_order_relaxed)) {
        longest.store(waited, std::memory_order_relaxed);
      }
    }

    void give_back(std::atomic<std::uint64_t>& done) {
      must(pthread_rwlock_unlock(&all_.lock_), "pthread_rwlock_unlock");
      increment(done);
    }

    void check(bool whole) {
      if (!whole) {
        increment(tally_.torn);
      }
    }

    rwlock_calls& all_;
    tally& tally_;
    std::uint64_t seen_ = 0;
  };

  explicit rwlock_calls(const settings& given) : tallies_(given.threads()) {}

  // With threads alive, as in a program that needs locks.
  void prepare() {
    read_pair_ns_ = pair_ns(pthread_rwlock_rdlock);
    write_pair_ns_ = pair_ns(pthread_rwlock_wrlock);
  }

  void report(result& line, const run_record& done) const {
    const auto longest = [&](auto field) {
      std::uint64_t ticks = 0;
      for (const tally& each : tallies_) {
        ticks = std::max(ticks, (each.*field).load(std::memory_order_relaxed));
      }
      return static_cast<double>(ticks) * done.ns_per_tick;
    };
    const auto reads = static_cast<double>(sum(&tally::reads));
    const auto writes = static_cast<double>(sum(&tally::writes));
    // Of the time from the start, which is that of the operations where there is no warm-up.
    const double rate =
        static_cast<double>(done.operations) / done.seconds / std::max(1.0, reads + writes);
    line.field("reads_per_second", reads * rate)
        .field("writes_per_second", writes * rate)
        .field("longest_read_wait_ns", longest(&tally::longest_read_wait))
        .field("longest_write_wait_ns", longest(&tally::longest_write_wait))
        .field("read_pair_ns", read_pair_ns_)
        .field("write_pair_ns", write_pair_ns_);
  }

  [[nodiscard]] std::string find_fault() const {
    const bool whole = sum(&tally::torn) == 0 && first_ == second_;
    return whole ? "" : "a writer held the lock together with another thread";
  }

 private:
  [[nodiscard]] std::uint64_t sum(std::atomic<std::uint64_t> tally::* field) const {
    std::uint64_t all = 0;
    for (const tally& each : tallies_) {
      all += (each.*field).load(std::memory_order_relaxed);
    }
    return all;
  }

  // Nanoseconds of one pair of calls that no other thread disturbs: the fastest of ten batches.
  template <class Lock>
  double pair_ns(Lock lock_for) {
    constexpr int pairs = 20'000;
    double fastest = 1e9;
    for (int batch = 0; batch < 10; ++batch) {
      int errors = 0;
      const std::uint64_t began = now_ns();
      for (int i = 0; i < pairs; ++i) {
        errors |= lock_for(&lock_);
        errors |= pthread_rwlock_unlock(&lock_);
      }
      fastest = std::min(fastest, static_cast<double>(now_ns() - began) / pairs);
      must(errors, "an uncontended pthread_rwlock call");
    }
    return fastest;
  }

  alignas(cache_line_pair) pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
  // Written by writers, read by readers: they differ if a writer ran beside another thread.
  // Volatile: read and written where the section has it, not merged.
  alignas(cache_line_pair) volatile std::uint64_t first_ = 0;
  volatile std::uint64_t second_ = 0;
  alignas(cache_line_pair) std::vector<tally> tallies_;
  double read_pair_ns_ = 0;
  double write_pair_ns_ = 0;
};

}  // namespace bench
