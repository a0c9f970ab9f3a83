// Detection of over-subscription, for locks that wait differently then. All locks of a process
// share one result.
//
// Citation: J. Antic, G. Chatzopoulos, R. Guerraoui, V. Trigonakis, "Locking
// Made Easy", Middleware 2016, and its library.
//
//   word   | meaning                                          | written by
//   due    | the time of the next reading of the load         | the reader
//   left   | the number of readings in a row without a crowd  | the same
//          | that end it; 0: not crowded                      |
//   needed | the initial value of `left`                      | the same
//
// A lock whose waiters sleep removes the load that it reacts to. So each time
// that the machine is found crowded, more readings are needed before it counts
// as not crowded; the number falls by one with each reading after that.
//
// In the paper a thread reads the load ten times a millisecond and, if the result has changed
// more than eight times in a second, leaves it at crowded for seconds. A preload library
// starts no threads, so the calling thread reads the load, if it is due; `needed` alone bounds
// the changes. The paper also has a margin for large machines: crowded from two threads above
// the number of processors, not crowded from five below it; with two processors a crowd
// would never end. Here only the processors that the process may run on are counted.
//
// Invariants
//   ADVICE     a wrong result only costs time, so no word needs any order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lockwright/parts/wait.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class crowding {
  struct record {
    typename Env::template atomic<std::uint64_t> due;
    typename Env::template atomic<std::uint32_t> left;
    typename Env::template atomic<std::uint32_t> needed;
  };

 public:
  static constexpr tunable interval{
      .name = "load-ns",
      .default_value = 1'000'000,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = 1'000'000'000,
      .model_value = 0,
      .meaning = "the shortest time between two readings of the load",
      .source = "a look takes some microseconds, so that it costs less than a hundredth"};
  static constexpr tunable least_needed{
      .name = "calm-looks",
      .default_value = 4,
      .counted_in = unit::count,
      .min = 1,
      .max = 1u << 20,
      .model_value = 1,
      .meaning = "the least number of readings in a row with few threads that end a crowd",
      .source = "the published library"};
  static constexpr tunable most_needed{
      .name = "most-calm-looks",
      .default_value = 800,
      .counted_in = unit::count,
      .min = 1,
      .max = 1u << 20,
      .model_value = 1,
      .meaning = "the most such readings; their number is multiplied by four at each new crowd",
      .source = "0.8 s, as in the published library"};
  static constexpr tunable_list<3> tunables{&interval, &least_needed, &most_needed};

  /// The size of the record that all locks of the process share.
  static constexpr std::size_t common_bytes = sizeof(record);

  /// True if the machine is crowded. Reads the load if that is due.
  static bool is_crowded() {
    record& known = Env::template common<record>();
    const std::uint64_t now = Env::now();
    std::uint64_t due = known.due.load(std::memory_order_relaxed);
    if (now >= due &&
        known.due.compare_exchange_strong(due, now + Env::template value<interval>(),
                                          std::memory_order_relaxed, std::memory_order_relaxed)) {
      look(known);
    }
    return known.left.load(std::memory_order_relaxed) != 0;
  }

 private:
  static constexpr std::uint32_t growth_ = 4;  // as in the published library

  [[gnu::noinline]] static void look(record& known) {
    const auto least = static_cast<std::uint32_t>(Env::template value<least_needed>());
    const auto most = static_cast<std::uint32_t>(Env::template value<most_needed>());
    std::uint32_t needed = known.needed.load(std::memory_order_relaxed);
    std::uint32_t left = known.left.load(std::memory_order_relaxed);
    if (Env::runnable() > Env::cpus()) {
      if (left == 0) {
        const std::uint32_t more = (needed < least ? least : needed) * growth_;
        needed = more < most ? more : most;
      }
      left = needed;
    } else if (left != 0) {
      --left;
    } else {
      needed = needed > least ? needed - 1 : least;
    }
    known.needed.store(needed, std::memory_order_relaxed);
    known.left.store(left, std::memory_order_relaxed);
  }
};

/// The steps of one wait: polls, and yields at intervals while the machine is crowded.
template <class Env>
class crowd_poller {
 public:
  static constexpr tunable polls{
      .name = "polls",
      .default_value = 1024,
      .counted_in = unit::count,
      .min = 1,
      .max = 1u << 20,
      .model_value = 1024,  // the model sees no difference between a yield and a pause
      .meaning = "the number of polls after which a waiter yields if the machine is crowded",
      .source = "the published library of GLK"};
  static constexpr tunable_list<1> tunables{&polls};

  void step() {
    if (++polled_ % Env::template value<polls>() == 0 && crowding<Env>::is_crowded()) {
      Env::yield();
    } else {
      Env::relax();
    }
  }

  /// The interface for ticket.
  void back_off(std::uint32_t, const void*) { step(); }

 private:
  std::uint64_t polled_ = 0;
};

/// spin_wait with such a waiter.
template <class Env>
class crowd_wait : public spin_wait<Env> {
 public:
  static constexpr auto tunables = crowd_poller<Env>::tunables;

  void wait() {
    crowd_poller<Env> poller;
    this->wait_by([&poller] { poller.step(); });
  }
};

}  // namespace lockwright
