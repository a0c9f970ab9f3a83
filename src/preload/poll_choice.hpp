// Whether a thread polls before it sleeps in a condition variable or semaphore.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockwright::preload {

/// What a thread has learnt from its waits for objects of one kind.
///
/// Where threads pass each item on, as with a queue that has room for one, a wait costs a sleep and
/// a wake of tens of microseconds for sections of less than one. A poll avoids both. But where a
/// sleeper finds much to do when it wakes, as with a queue that has room for a hundred, a poll keeps
/// the others from getting ahead, and all of them stay at the edge of the queue. So what counts is
/// what sleeps have bought, and a thread that polls sleeps now and then to learn it.
///
///   member  | meaning
///   end_ns  | the end of the last wait; 0: none yet
///   slept   | the last wait was a sleep
///   sleep_ns| the end of the last sleep
///   run_ns  | the time from the end of the last sleep to the next wait
///   signals | the signals that the thread has sent since the last wait
///   gain    | a mean of these after sleeps, times `sleeps`
///   failed  | the polls in a row that ended without a signal
///   skip    | the number of waits without a poll from now on
template <class Env>
class poll_choice {
 public:
  /// Returns true if the caller, which is about to wait for the object at `address`, is to poll: at
  /// most one thread does for each. It calls poll_while() or leave() next.
  bool begin(const void* address) {
    const std::uint64_t now = Env::now();
    if (slept_) {
      slept_ = false;
      run_ns_ = now - end_ns_;
      gain_ += std::min(signals_, most_signals) - gain_ / sleeps;
    }
    signals_ = 0;
    if (run_ns_ > longest_run || gain_ > sleeps * few_signals ||
        now - sleep_ns_ > longest_without) {
      return false;
    }
    // On one processor nobody can signal meanwhile.
    if (skip_ != 0 || Env::cpus() == 1) {
      skip_ -= skip_ != 0 ? 1 : 0;
      return false;
    }
    polled_ = &entry(address);
    std::uint64_t until = polled_->load(std::memory_order_relaxed);
    until_ns_ = now + longest_poll;
    return until < now &&
           polled_->compare_exchange_strong(until, until_ns_, std::memory_order_relaxed,
                                            std::memory_order_relaxed);
  }

  /// Polls as long as is_waiting(), and longest_poll at most.
  template <class Waiting>
  void poll_while(Waiting is_waiting) {
    do {
      Env::relax();
    } while (is_waiting() && Env::now() < until_ns_);
    leave();
  }

  void leave() { polled_->store(0, std::memory_order_relaxed); }

  /// Notes the end of a wait.
  void end(bool polled, bool slept) {
    end_ns_ = Env::now();
    slept_ = slept;
    if (slept) {
      sleep_ns_ = end_ns_;
    }
    if (polled) {
      failed_ = slept ? std::min(failed_ + 1, most_failed) : 0;
      skip_ = (1U << failed_) - 1;
    }
  }

  void note_signal() { ++signals_; }

 private:
  /// Two threads that pass something to and fro both have to be polling when the wake of one ends,
  /// which takes 20 to 60 microseconds on a virtual machine.
  static constexpr std::uint64_t longest_poll = 30'000;
  /// A thread that works for longer between its waits gains little by a poll.
  static constexpr std::uint64_t longest_run = 20'000;
  /// The time after which a thread that polls has to sleep: a thirtieth of it, at most, is lost.
  static constexpr std::uint64_t longest_without = 2'000'000;
  static constexpr std::uint32_t sleeps = 64;
  static constexpr std::uint32_t few_signals = 2;
  static constexpr std::uint32_t most_signals = 256;
  static constexpr std::uint32_t most_failed = 6;

  /// The end of the poll of an object, by its address: advice, so that the child of a
  /// fork, in which no thread polls, needs no other care.
  static std::atomic<std::uint64_t>& entry(const void* address) {
    static constinit std::atomic<std::uint64_t> entries[256]{};
    const auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address) >> 4);
    return entries[bits * 0x9e3779b97f4a7c15 >> 56];
  }

  std::uint64_t end_ns_ = 0;
  std::uint64_t sleep_ns_ = 0;
  std::uint64_t run_ns_ = ~std::uint64_t{0};
  std::uint64_t until_ns_ = 0;
  std::atomic<std::uint64_t>* polled_ = nullptr;
  std::uint32_t signals_ = 0;
  std::uint32_t gain_ = 2 * sleeps * few_signals;
  std::uint32_t failed_ = 0;
  std::uint32_t skip_ = 0;
  bool slept_ = false;
};

}  // namespace lockwright::preload
