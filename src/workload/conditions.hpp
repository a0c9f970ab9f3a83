// Threads that wait for each other with condition variables: producer-consumer, barrier, ping-pong.
#pragma once

#include <cstddef>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "description.hpp"

namespace lockwright::workloads {

// A bounded queue with a condition for each of its ends; operations are messages.
template <class Env>
struct bounded_queue : with_one<typename Env::monitor> {
  explicit bounded_queue(const typename Env::settings& given)
      : with_one<typename Env::monitor>{given},
        not_empty{given},
        not_full{given},
        capacity{given.count("capacity", 1)},
        consumers{given.count("consumers", 1)} {}

  [[nodiscard]] std::uint64_t helpers() const { return consumers; }

  struct alignas(cache_line_pair) thread_state {
    thread_state(bounded_queue& /*w*/, const typename Env::settings& given, std::size_t index)
        : produces{index < given.threads()} {}
    bool produces;
    int message = 0;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    return me.produces ? put(me, meter) : get(me, meter);
  }

  template <class Meter>
  std::uint64_t put(thread_state& me, Meter& meter) {
    meter.lock(this->shared);
    while (queue.size() == capacity && !over) {
      meter.wait(not_full, this->shared);
    }
    const bool room = queue.size() < capacity;
    if (room) {
      meter.change(this->shared);
      queue.push(me.message++);
      ++entered;
      not_empty.signal();
    }
    meter.unlock(this->shared);
    return room ? 1 : 0;
  }

  template <class Meter>
  std::uint64_t get(thread_state& me, Meter& meter) {
    meter.lock(this->shared);
    while (queue.empty() && !over) {
      meter.wait(not_empty, this->shared);
    }
    const bool any = !queue.empty();
    if (any) {
      meter.change(this->shared);
      me.message = queue.front();
      queue.pop();
      ++left;
      not_full.signal();
    }
    meter.unlock(this->shared);
    return any ? 1 : 0;
  }

  void release_waiters() {
    this->shared.lock();
    over = true;
    not_empty.broadcast();
    not_full.broadcast();
    this->shared.unlock();
  }

  template <class Line, class Record>
  static void report(Line& line, const Record& done) {
    if (done.operations != 0) {
      line.field("acquisitions_per_message",
                 static_cast<double>(done.acquisitions) / static_cast<double>(done.operations));
    }
  }

  [[nodiscard]] std::string find_fault(std::uint64_t operations) const {
    const bool right = entered == operations && left + queue.size() == entered;
    return right ? "" : "messages were lost or came twice";
  }

  typename Env::condition not_empty;
  typename Env::condition not_full;
  // Guarded by the mutex.
  alignas(cache_line_pair) std::queue<int> queue;
  std::uint64_t entered = 0;
  std::uint64_t left = 0;
  bool over = false;
  std::uint64_t capacity;
  std::uint64_t consumers;
};

inline const description producer_consumer{
    .name = "producer-consumer",
    .measures = "threads that put messages into a bounded queue, and others that take them out",
    .source =
        "Curtsinger and Berger, COZ's producer_consumer; Dice, Malthusian Locks, EuroSys "
        "2017, figure 10",
    .operation = "messages put",
    .parameters = {{"consumers", 3, "", "threads that take messages out, beside those of --threads",
                    1},
                   {"capacity", 10000, "messages", "most that the queue holds", 1}},
    .figures = {{"acquisitions_per_message", "acq per message",
                 "how often the mutex was taken for a message, by threads that had waited "
                 "too: 3 where most wait, 2 with a fast flow",
                 true}},
    .one_mutex = true,
};

// A barrier made of a mutex and a condition variable, as in many programs.
template <class Env>
struct cond_barrier : with_one<typename Env::monitor> {
  explicit cond_barrier(const typename Env::settings& given)
      : with_one<typename Env::monitor>{given}, all_there{given}, threads{given.threads()} {}

  struct alignas(cache_line_pair) thread_state {
    thread_state(cond_barrier& /*w*/, const typename Env::settings& given, std::size_t /*index*/)
        : gap{given.length("gap")} {}
    std::uint64_t gap;
  };

  template <class Meter>
  std::uint64_t step(thread_state& me, Meter& meter) {
    meter.work(me.gap);
    meter.lock(this->shared);
    meter.change(this->shared);
    bool passed = true;
    if (++arrived == threads) {
      arrived = 0;
      ++generation;
      all_there.broadcast();
    } else {
      const std::uint64_t mine = generation;
      while (generation == mine && !over) {
        meter.wait(all_there, this->shared);
      }
      passed = generation != mine;
      // Some threads have ended, so no thread will come to release the others.
      arrived -= passed ? 0 : 1;
    }
    passages += passed ? 1 : 0;
    meter.unlock(this->shared);
    return passed ? 1 : 0;
  }

  void release_waiters() {
    this->shared.lock();
    over = true;
    all_there.broadcast();
    this->shared.unlock();
  }

  [[nodiscard]] std::string find_fault(std::uint64_t operations) const {
    const bool right = passages == operations && passages == generation * threads;
    return right ? "" : "a thread passed the barrier before the others arrived";
  }

  typename Env::condition all_there;
  // Guarded by the mutex.
  alignas(cache_line_pair) std::uint64_t arrived = 0;
  std::uint64_t generation = 0;
  std::uint64_t passages = 0;
  bool over = false;
  std::uint64_t threads;
};

inline const description barrier{
    .name = "barrier",
    .measures = "threads that wait for each other at a barrier of a mutex and a condition variable",
    .source =
        "Guerraoui et al., Lock-Unlock: Is That All?, TOCS 2019: barriers by "
        "condition variables: streamcluster, facesim",
    .operation = "passages of a thread",
    .parameters = {{"gap-cycles", 1000, "cycles", "work of a thread before it arrives again"}},
};

// Two threads that take turns, each waiting for the other on a condition variable.
template <class Env>
struct thread_pairs {
  explicit thread_pairs(const typename Env::settings& given) {
    if (given.threads() % 2 != 0) {
      programs::refuse("'--threads' is odd; give an even number: the threads run in pairs");
    }
    for (std::uint64_t i = 0; i < given.threads() / 2; ++i) {
      all.push_back(std::make_unique<thread_pair>(given));
    }
  }

  struct thread_pair {
    explicit thread_pair(const typename Env::settings& given)
        : shared{given}, first{given}, second{given} {}
    typename Env::condition& of(std::size_t side) { return side == 0 ? first : second; }

    typename Env::monitor shared;
    typename Env::condition first;
    typename Env::condition second;
    // Guarded by the mutex.
    alignas(cache_line_pair) std::size_t turn = 0;
    std::uint64_t turns = 0;
    bool over = false;
  };

  struct alignas(cache_line_pair) thread_state {
    thread_state(thread_pairs& w, const typename Env::settings& given, std::size_t index)
        : at{*w.all[index / 2]}, side{index % 2}, section{given.length("section")} {}
    thread_pair& at;
    std::size_t side;
    std::uint64_t section;
  };

  template <class Meter>
  static std::uint64_t step(thread_state& me, Meter& meter) {
    thread_pair& t = me.at;
    meter.lock(t.shared);
    while (t.turn != me.side && !t.over) {
      meter.wait(t.of(me.side), t.shared);
    }
    const bool mine = t.turn == me.side;
    if (mine) {
      meter.change(t.shared);
      meter.work(me.section);
      t.turn = 1 - me.side;
      ++t.turns;
      t.of(t.turn).signal();
    }
    meter.unlock(t.shared);
    return mine ? 1 : 0;
  }

  void release_waiters() {
    for (auto& one : all) {
      one->shared.lock();
      one->over = true;
      one->first.broadcast();
      one->second.broadcast();
      one->shared.unlock();
    }
  }

  [[nodiscard]] std::uint64_t taken() const {
    std::uint64_t sum = 0;
    for (const auto& one : all) {
      sum += one->shared.taken;
    }
    return sum;
  }

  [[nodiscard]] std::string find_fault(std::uint64_t operations) const {
    std::uint64_t turns = 0;
    for (const auto& one : all) {
      turns += one->turns;
    }
    return turns == operations ? "" : "a turn was taken twice";
  }

  std::vector<std::unique_ptr<thread_pair>> all;
};

inline const description ping_pong{
    .name = "ping-pong",
    .measures = "two threads that take turns, by a mutex and a condition variable for each",
    .source =
        "Guerraoui et al., Lock-Unlock: Is That All?, TOCS 2019: calibration by "
        "context switches",
    .operation = "turns",
    .parameters = {{"section-cycles", 0, "cycles", "work of a turn"}},
};

}  // namespace lockwright::workloads
