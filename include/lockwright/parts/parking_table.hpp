// Queues of parked threads for any number of addresses: one hash table per process, so that a
// lock needs no space for its waiters.
//
//   bucket | meaning                                      | written by
//   lock   | the bucket lock: it protects the rest        | see wordlock
//   first  | the waiters of all addresses of this bucket, | the bucket-lock holder
//          | in the order of their arrival                |
//   fair   | the time of the next fair unpark             | the bucket-lock holder
//
// Invariants
//   FIFO       the waiters of one address are woken in the order of their arrival.
//   NO-LOST-WAKE  a waiter decides to sleep, and an unparker what to store, with the bucket
//              locked, so the later one sees the earlier one's decision.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lockwright/lock/wordlock.hpp"
#include "lockwright/parts/wait.hpp"

namespace lockwright {

template <class Env>
class parking_table {
  struct alignas(64) sleeper {
    typename Env::template plain<sleeper*> next{};
    typename Env::template plain<const void*> address{};
    typename Env::template plain<bool> handed_over{};
    spin_then_park<Env> cell;
  };

  struct alignas(64) bucket {
    wordlock<Env> lock;
    typename Env::template plain<sleeper*> first;
    typename Env::template plain<std::uint64_t> fair;
  };

 public:
  static constexpr std::size_t node_bytes = sizeof(sleeper);

  /// The state that an unparker finds, with the bucket locked.
  struct unparking {
    bool any;     ///< there is a waiter to wake
    bool others;  ///< and there are more
    bool fair;    ///< it is time for a fair handover
  };

  /// The table of the process; all-zero memory is an empty one.
  static parking_table& shared() { return Env::template common<parking_table>(); }

  static constexpr std::size_t buckets = 256;  // 16 KB. More sleepers only cost time.
  /// The index of the bucket of `address`.
  static std::size_t bucket_of(const void* address) {
    // Fibonacci hashing (Knuth, TAOCP 6.4): 2^64 divided by the golden ratio.
    const std::uint64_t mixed =
        static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address)) *
        0x9e37'79b9'7f4a'7c15u;
    return mixed / (~std::uint64_t{0} / buckets + 1);
  }

  /// Sleeps at `address` until unparked, if `still()` holds with the bucket
  /// locked. Returns true if the unparker handed over.
  template <class Still>
  bool park(const void* address, Still still) {
    bucket& mine = table_[bucket_of(address)];
    sleeper* me = Env::template take_node<sleeper>();
    me->next = nullptr;
    me->address = address;
    me->cell.arm();
    mine.lock.lock();
    if (!still()) {
      mine.lock.unlock();
      Env::give_node(me);
      return false;
    }
    append(mine, me);
    mine.lock.unlock();
    me->cell.park();
    const bool handed_over = me->handed_over;
    Env::give_node(me);
    return handed_over;
  }

  /// Wakes the first sleeper at `address`. `leave(unparking)` decides, with the bucket
  /// locked, what to store there, and returns whether it handed over to the sleeper.
  /// `fair_period` bounds, by chance, the time between two fair handovers.
  template <class Leave>
  void unpark_one(const void* address, std::uint64_t fair_period, Leave leave) {
    bucket& mine = table_[bucket_of(address)];
    mine.lock.lock();
    unparking found{};
    sleeper* waiter = take_first(mine, address, found.others);
    found.any = waiter != nullptr;
    found.fair = found.any && is_fair(mine, fair_period);
    const bool handed_over = leave(found);
    mine.lock.unlock();
    if (waiter != nullptr) {
      waiter->handed_over = handed_over;
      waiter->cell.grant();
    }
  }

 private:
  static void append(bucket& to, sleeper* me) {
    sleeper* last = to.first;
    if (last == nullptr) {
      to.first = me;
      return;
    }
    while (sleeper* next = last->next) {
      last = next;
    }
    last->next = me;
  }

  /// Null if no thread sleeps at `address`.
  static sleeper* take_first(bucket& from, const void* address, bool& others) {
    sleeper* before = nullptr;
    for (sleeper* waiter = from.first; waiter != nullptr; before = waiter, waiter = waiter->next) {
      if (waiter->address != address) {
        continue;
      }
      sleeper* following = waiter->next;
      if (before == nullptr) {
        from.first = following;
      } else {
        before->next = following;
      }
      for (; following != nullptr && !others; following = following->next) {
        others = following->address == address;
      }
      return waiter;
    }
    return nullptr;
  }

  static bool is_fair(bucket& at, std::uint64_t period) {
    const std::uint64_t now = Env::now();
    const bool first_time = at.fair == 0;
    if (!first_time && now <= at.fair) {
      return false;
    }
    // mutant survives: dropped: when the next fair unlock is due is a matter of fairness.
    at.fair = now + Env::random(static_cast<std::uint32_t>(period));
    return !first_time;
  }

  bucket table_[buckets];
};

}  // namespace lockwright
