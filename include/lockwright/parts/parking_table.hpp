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
//   FIFO       the waiters of one address are woken in the order of their arrival; those of a
//              reader-writer lock in groups.
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
    typename Env::template plain<bool> writes{};
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

  /// The end of a sleep.
  enum class wakeup : std::uint8_t {
    none,         ///< the caller did not sleep
    woken,        ///< by an unparker, without the lock
    handed_over,  ///< by an unparker, with the lock
    too_late,     ///< the deadline passed, and no unparker had chosen the caller
  };

  /// The sleepers of a reader-writer lock that an unparker wakes together.
  struct chosen {
    std::uint32_t readers;
    std::uint32_t writers;  ///< 0 or 1
    bool others;            ///< there are more sleepers
    bool fair;              ///< it is time for a fair handover
  };

  /// No deadline.
  static constexpr std::uint64_t never = ~std::uint64_t{0};

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
    return park_until(address, false, never, still) == wakeup::handed_over;
  }

  /// The same for a thread that reads or `writes`, up to `deadline` of Env::now().
  template <class Still>
  wakeup park_until(const void* address, bool writes, std::uint64_t deadline, Still still) {
    bucket& mine = table_[bucket_of(address)];
    sleeper* me = Env::template take_node<sleeper>();
    me->next = nullptr;
    me->address = address;
    me->writes = writes;
    me->cell.arm();
    mine.lock.lock();
    if (!still()) {
      mine.lock.unlock();
      Env::give_node(me);
      return wakeup::none;
    }
    append(mine, me);
    mine.lock.unlock();
    if (!sleep(mine, me, deadline)) {
      Env::give_node(me);
      return wakeup::too_late;
    }
    const bool handed_over = me->handed_over;
    Env::give_node(me);
    return handed_over ? wakeup::handed_over : wakeup::woken;
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

  /// Wakes a writer if it is the first sleeper at `address`, or if `writers_first` and there is one;
  /// else all readers and the first writer. Otherwise as unpark_one().
  template <class Leave>
  void unpark_group(const void* address, bool writers_first, std::uint64_t fair_period,
                    Leave leave) {
    bucket& mine = table_[bucket_of(address)];
    mine.lock.lock();
    chosen found{};
    sleeper* first = take_group(mine, address, writers_first, found);
    found.fair = first != nullptr && is_fair(mine, fair_period);
    const bool handed_over = leave(found);
    mine.lock.unlock();
    while (first != nullptr) {
      sleeper* next = first->next;  // The node is its owner's again once it is granted.
      first->handed_over = handed_over;
      first->cell.grant();
      first = next;
    }
  }

 private:
  /// Sleeps until granted; false if the deadline passed first.
  static bool sleep(bucket& in, sleeper* me, std::uint64_t deadline) {
    if (deadline != never) {
      while (!me->cell.park_until(deadline)) {
        if (Env::now() < deadline) {
          continue;
        }
        in.lock.lock();
        const bool removed = remove(in, me);
        in.lock.unlock();
        if (removed) {
          return false;
        }
        break;  // An unparker has chosen it, and is about to grant.
      }
    }
    me->cell.park();
    return true;
  }

  static bool remove(bucket& from, sleeper* me) {
    sleeper* before = nullptr;
    for (sleeper* waiter = from.first; waiter != nullptr; before = waiter, waiter = waiter->next) {
      if (waiter == me) {
        unlink(from, before, me);
        return true;
      }
    }
    return false;
  }

  static void unlink(bucket& from, sleeper* before, sleeper* waiter) {
    sleeper* following = waiter->next;
    if (before == nullptr) {
      from.first = following;
    } else {
      before->next = following;
    }
  }

  /// Returns the first of the removed sleepers, each linked to the next.
  static sleeper* take_group(bucket& from, const void* address, bool writers_first, chosen& found) {
    bool only_writer = false;
    bool any = false;
    for (sleeper* waiter = from.first; waiter != nullptr; waiter = waiter->next) {
      if (waiter->address == address && waiter->writes && (!any || writers_first)) {
        only_writer = true;
        break;
      }
      any = any || waiter->address == address;
    }
    sleeper* first = nullptr;
    sleeper* last = nullptr;
    sleeper* before = nullptr;
    for (sleeper *waiter = from.first, *next = nullptr; waiter != nullptr; waiter = next) {
      next = waiter->next;
      const bool writes = waiter->writes;
      if (waiter->address != address) {
        before = waiter;
        continue;
      }
      if (writes ? found.writers != 0 : only_writer) {
        found.others = true;
        before = waiter;
        continue;
      }
      unlink(from, before, waiter);
      waiter->next = nullptr;
      ++(writes ? found.writers : found.readers);
      if (last == nullptr) {
        first = waiter;
      } else {
        last->next = waiter;
      }
      last = waiter;
    }
    return first;
  }

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
      unlink(from, before, waiter);
      for (sleeper* following = waiter->next; following != nullptr && !others;
           following = following->next) {
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
    at.fair = now + Env::random(static_cast<std::uint32_t>(period));
    return !first_time;
  }

  bucket table_[buckets];
};

}  // namespace lockwright
