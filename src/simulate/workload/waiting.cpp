// Threads that wait for something else than the lock, and locks that live shortly: producer-consumer,
// many-locks, last-user-destroys, sleep-period.
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "../lock_call.hpp"
#include "guarded.hpp"
#include "workloads.hpp"

namespace lockwright::simulate {
namespace {

class producer_consumer : public workload {
 public:
  explicit producer_consumer(const context& with)
      : in_{with.in},
        producers_{with.threads()},
        consumers_{with.given.count("consumers")},
        capacity_{with.given.count("capacity")},
        mutex_{placed<guarded>(with.in, with)},
        not_empty_{placed<guarded::condvar>(with.in)},
        not_full_{placed<guarded::condvar>(with.in)} {
    if (consumers_ == 0 || capacity_ == 0) {
      refuse("producer-consumer needs 'consumers' and 'capacity' of at least 1");
    }
  }

  [[nodiscard]] std::uint64_t helpers() const override { return consumers_; }

  std::uint64_t step(std::uint32_t index) override { return index < producers_ ? put() : get(); }

  void release_waiters() override {
    mutex_.lock();
    over_ = true;
    not_empty_.broadcast();
    not_full_.broadcast();
    mutex_.unlock();
  }

  [[nodiscard]] const char* find_fault() const override {
    return left_ + queued_ == entered_ ? nullptr : "messages were lost or came twice";
  }

 private:
  std::uint64_t put() {
    mutex_.lock();
    while (queued_ == capacity_ && !over_) {
      mutex_.wait(not_full_);
    }
    const bool room = queued_ < capacity_;
    if (room) {
      mutex_.change_data();
      ++queued_;
      ++entered_;
      not_empty_.signal();
    }
    mutex_.unlock();
    return room ? 1 : 0;
  }

  std::uint64_t get() {
    mutex_.lock();
    while (queued_ == 0 && !over_) {
      mutex_.wait(not_empty_);
    }
    const bool any = queued_ != 0;
    if (any) {
      mutex_.change_data();
      --queued_;
      ++left_;
      not_full_.signal();
    }
    mutex_.unlock();
    return any ? 1 : 0;
  }

  simulation& in_;
  std::uint64_t producers_;
  std::uint64_t consumers_;
  std::uint64_t capacity_;
  guarded& mutex_;
  guarded::condvar& not_empty_;
  guarded::condvar& not_full_;
  std::uint64_t queued_ = 0;
  std::uint64_t entered_ = 0;
  std::uint64_t left_ = 0;
  bool over_ = false;
};

class many_locks : public workload {
 public:
  explicit many_locks(const context& with)
      : in_{with.in},
        lock_{*with.lock},
        mutexes_{with.given.count("mutexes")},
        pairs_{with.given.count("pairs")},
        size_{(lock_.bytes + lock_.alignment - 1) / lock_.alignment * lock_.alignment} {
    if (mutexes_ == 0) {
      refuse("many-locks needs 'mutexes' of at least 1");
    }
    for (std::uint64_t i = 0; i < with.threads(); ++i) {
      memory_.push_back(static_cast<char*>(in_.memory.cut(mutexes_ * size_ + 128, 128)));
    }
  }

  std::uint64_t step(std::uint32_t index) override {
    for (std::uint64_t i = 0; i < mutexes_; ++i) {
      const lock_call call{in_};
      lock_.make(place(index, i));
    }
    for (std::uint64_t i = 0; i < mutexes_; ++i) {
      for (std::uint64_t pair = 0; pair < pairs_; ++pair) {
        take_and_release(place(index, i));
      }
    }
    in_.drain_stores();
    for (std::uint64_t i = 0; i < mutexes_; ++i) {
      const lock_call call{in_};
      lock_.destroy(place(index, i));
    }
    return mutexes_;
  }

 private:
  [[nodiscard]] void* place(std::uint32_t index, std::uint64_t mutex) const {
    return memory_[index] + mutex * size_;
  }

  void take_and_release(void* lock) {
    {
      const lock_call call{in_};
      lock_.lock(lock);
    }
    in_.pass_time();
    const lock_call call{in_};
    lock_.unlock(lock);
  }

  simulation& in_;
  const lock_entry& lock_;
  std::uint64_t mutexes_;
  std::uint64_t pairs_;
  std::size_t size_;
  std::vector<char*> memory_;
};

/// All take a lock once; the last to have had it destroys it, and then they take the next one.
class last_user_destroys : public workload {
 public:
  explicit last_user_destroys(const context& with)
      : in_{with.in}, lock_{*with.lock}, threads_{with.threads()}, turns_(with.threads()) {
    begin();
  }

  std::uint64_t step(std::uint32_t index) override {
    while (turns_[index] > round_) {
      if (in_.is_over()) {
        return 0;
      }
      in_.spend(look_again);
    }
    ++turns_[index];
    void* const lock = now_;
    lock_.lock(lock);
    in_.work(section);
    const bool last = ++users_ == threads_;
    lock_.unlock(lock);
    if (last) {
      in_.pass_time();
      in_.drain_stores();
      lock_.destroy(lock);
      in_.kill(lock, lock_.bytes);
      begin();
      ++round_;
    }
    return 1;
  }

 private:
  static constexpr picoseconds look_again = 50'000;
  static constexpr picoseconds section = 100'000;

  void begin() {
    constexpr std::size_t cache_line_pair = 128;
    users_ = 0;
    now_ = in_.memory.cut((lock_.bytes + cache_line_pair - 1) / cache_line_pair * cache_line_pair,
                          cache_line_pair);
    lock_.make(now_);
  }

  simulation& in_;
  const lock_entry& lock_;
  std::uint64_t threads_;
  std::vector<std::uint64_t> turns_;
  std::uint64_t round_ = 0;
  std::uint64_t users_ = 0;
  void* now_ = nullptr;
};

class sleep_period : public workload {
 public:
  explicit sleep_period(const context& with)
      : in_{with.in},
        period_{with.cycles("period-cycles")},
        calls_{placed<simulated::atomic<std::uint32_t>>(with.in, 0u)} {}

  [[nodiscard]] std::uint64_t helpers() const override { return 1; }

  /// The first one wakes, the helper sleeps; others stay away.
  std::uint64_t step(std::uint32_t index) override {
    if (index == 0) {
      in_.work(period_);
      calls_.fetch_add(1);
      simulated::wake(calls_, 1);
      return 1;
    }
    simulated::wait(calls_, calls_.load());
    return 0;
  }

  void release_waiters() override {
    calls_.fetch_add(1);
    simulated::wake(calls_, ~std::uint32_t{0});
  }

 private:
  simulation& in_;
  picoseconds period_;
  simulated::atomic<std::uint32_t>& calls_;
};

}  // namespace

std::vector<description> workloads_of_waiting() {
  return {
      {"producer-consumer",
       "threads that put messages into a bounded queue, and others that take them out",
       {{"consumers", 3, "threads that take messages out, beside those of --threads"},
        {"capacity", 10000, "most that the queue holds"}},
       make_workload<producer_consumer>},
      {"many-locks",
       "locks that live shortly: each is made, taken and destroyed by its thread",
       {{"mutexes", 1000, "locks that a thread uses one after another"},
        {"pairs", 1, "how often it takes and gives back each of them"}},
       make_workload<many_locks>},
      {"last-user-destroys",
       "all threads take a lock once, and the last one destroys it: a late touch is a failure",
       {},
       make_workload<last_user_destroys>},
      {"sleep-period",
       "a thread that sleeps, and one that wakes it at fixed distances; the lock makes no "
       "difference",
       {{"period-cycles", 1024, "work between two wake calls"}},
       make_workload<sleep_period>},
  };
}

}  // namespace lockwright::simulate
