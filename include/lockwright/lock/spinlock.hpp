// spinlock: one word, taken by compare-and-swap in a loop with a pause between attempts. The
// simplest lock, and the worst under high contention, because every attempt requests the cache
// line for writing.
//
// Citation: T. E. Anderson, "The Performance of Spin Lock Alternatives for
// Shared-Memory Multiprocessors", IEEE TPDS 1(1), 1990 (test-and-set).
//
//   word | meaning
//   0    | free
//   1    | held
//
// Invariants
//   EXCLUSION  only the thread whose atomic step took the word from 0 to 1 is
//              inside, and only its unlock stores 0.
#pragma once

#include "lockwright/lock.hpp"
#include "lockwright/parts/test_and_set.hpp"
#include "lockwright/parts/wait.hpp"

namespace lockwright {

template <class Env, class Word = cas_word<Env>>
class spinlock {
 public:
  static constexpr lock_traits traits{
      .category = category::competitive_succession,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .light = true,
      .atomics = {.lock = 1, .unlock = 0},
      .suits = {{{use_case::low_contention, 6,
                  "one atomic operation to enter, a plain store to leave"}}},
      .reference = "Anderson, IEEE TPDS 1(1), 1990",
      .summary =
          "One word, taken by compare-and-swap in a loop with a pause between attempts. Light "
          "and small, but every attempt moves the cache line."};

  arrival lock() {
    if (try_lock()) {
      return arrival::uncontended;
    }
    poll_and_take();
    return arrival::contended;
  }

  bool try_lock() { return word_.take(); }

  bool try_lock_until(std::uint64_t deadline) {
    return try_lock() || poll_until<Env>(deadline, [this] { return try_lock(); });
  }

  void unlock() { word_.release(); }

 private:
  [[gnu::noinline]] void poll_and_take() {
    do {
      Env::relax();
    } while (!try_lock());
  }

  Word word_;
};

}  // namespace lockwright
