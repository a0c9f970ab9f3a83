// shfllock: a test-and-set lock with an MCS-like queue. While it waits, one waiter
// moves the waiters of its own NUMA node forward ("shuffles" them). Only the first in
// the queue competes for the lock.
//
// Citation: S. Kashyap, I. Calciu, X. Cheng, C. Min, T. Kim, "Scalable and
// Practical Locking with Shuffling", SOSP 2019. How a thread waits is the
// parameter: shfllock polls, shfllock-stp polls and parks.
//
//   word  | meaning                                           | written by
//   words | whether the lock is held, and whether arriving    | an acquirer; the
//         | threads may steal it: see the waiting policy      | holder; the first in the queue
//   tail  | last node of the queue, null when empty           | arriving threads; the first
//
//   node     | meaning                                         | written by
//   next     | the node behind                                 | the thread behind; the shuffler
//   cell     | whether the owner is the first in the queue, or | the first before; the owner; see
//            | has left it at a deadline                       | the policy
//   shuffler | not 0: the owner is to shuffle                  | the shuffler before; the owner
//   numa     | the owner's NUMA node                           | the owner, before it links itself
//   batch    | its position in a group of one NUMA node, 0     | the shuffler
//            | when it is in none                              |
//
// A node is in the queue only while its owner waits, so no node stays in use from lock to unlock.
// A node whose owner has left stays until it would be the first. If it was to shuffle, no waiter
// does until one is the first.
//
// The published parking lock lets a waiter sleep when its time slice is over, wakes all of a group
// when it is formed, and never lets the first one sleep. Here every waiter, the first too, sleeps
// after the spin bound, as in the other parking locks. Only the waiter behind the first is woken
// ahead, when the first finds the lock free: the others would sleep again before they become the
// first. A thread that arrives behind a queue tries for a moment to steal the lock: otherwise each
// collision would send a running thread behind all sleepers, and only one processor would be busy.
//
// Invariants
//   FIRST-COMPETES  of the queued threads only the first tries to take the
//              lock, and it leaves the queue while it holds the lock, or at its deadline.
//   ONE-SHUFFLER  a thread shuffles only with the shuffler mark, or as the first
//              with batch 0, which means that no group, and so no mark, is left
//              in the queue. The mark goes to the last of the group.
//   BEHIND-ONLY  the shuffler changes only links from its own node on, and no
//              link that is null: that one belongs to an arriving thread.
//   BATCH      a group has at most `batch` members; the waiter after it has waited longest.
//   NO-STARVATION  without parking no thread steals while a thread queues; with
//              it, not once the first has been waiting for `patience-ns`.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/parts/await_link.hpp"
#include "lockwright/parts/wait.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

/// A waiting policy of shfllock: polling without bound.
///
///   held_ | meaning    no_stealing_ | meaning              cell    | meaning
///   0     | free       0            | no queue             waiting | not the first in the queue
///   1     | held       1            | arriving threads     first   | the first in the queue
///         |            |            | have to queue                |
///
/// The published lock compares both words in one step. Here a thread may steal once after
/// stealing was forbidden, if it read the word just before.
template <class Env>
struct shfl_spin {
  static constexpr lockwright::waiting policy = waiting::spin;
  static constexpr tunable_list<0> tunables{};
  using link_wait = spin_wait<Env>;

  class words {
   public:
    // Relaxed, here and wherever it is set: no_stealing_ orders nothing.
    bool steal() {
      return is_free() && no_stealing_.load(std::memory_order_relaxed) == 0 && take();
    }

    // Relaxed: take() acquires.
    [[nodiscard]] bool is_free() const { return held_.load(std::memory_order_relaxed) == 0; }

    bool steal_soon() { return false; }

    void release() { held_.store(0, std::memory_order_release); }

   private:
    friend struct shfl_spin;

    bool take() {
      std::uint32_t free = 0;
      // Acquire pairs with the release store in release().
      return held_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                           std::memory_order_relaxed);
    }

    typename Env::template atomic<std::uint32_t> held_{};
    typename Env::template atomic<std::uint32_t> no_stealing_{};
  };

  class first {
   public:
    first(words& lock, bool begins_queue) : lock_(lock) {
      if (begins_queue) {
        lock_.no_stealing_.store(1, std::memory_order_relaxed);
      }
    }

    bool await_free(std::uint64_t) {
      while (!lock_.is_free()) {
        Env::relax();
      }
      return true;
    }

    bool take() { return lock_.take(); }

    void give_up() {}

    /// Called by the holder. The first of the next queue may have set the word again
    /// already: then a thread may steal from that queue.
    void leave(bool ends_queue) {
      if (ends_queue) {
        lock_.no_stealing_.store(0, std::memory_order_relaxed);
      }
    }

   private:
    words& lock_;
  };

  class cell {
   public:
    void arm() { word_.store(waiting_, std::memory_order_relaxed); }

    // Acquire pairs with the release in make_first().
    [[nodiscard]] bool is_first() const { return word_.load(std::memory_order_acquire) == first_; }

    template <class Between>
    bool await_first(std::uint64_t, Between between) {
      while (!is_first()) {
        between();
        Env::relax();
      }
      return true;
    }

    /// Release: hands links and groups on to the acquire in is_first(). True: the owner never
    /// leaves.
    bool make_first() {
      word_.store(first_, std::memory_order_release);
      return true;
    }

    void wake_ahead() {}

   private:
    static constexpr std::uint32_t waiting_ = 0;
    static constexpr std::uint32_t first_ = 1;

    typename Env::template atomic<std::uint32_t> word_{};
  };
};

/// A waiting policy of shfllock: polling up to `spin_bound` nanoseconds, then sleeping.
///
///   bits of word_ | meaning                          | set by      | cleared by
///   held          | the lock is held                 | an acquirer | the holder
///   first_sleeps  | the first sleeps or is about to  | the first   | the holder, which then wakes it
///   no_stealing   | arriving threads have to queue   | the first   | the first, when it takes the lock
///
///   cell    | meaning                                | changed by
///   waiting | not the first; the waiter polls        | the waiter -> parked, left; the first -> first
///   parked  | not the first; sleeps, or is about to  | the waiter -> left; the first -> waiting or
///           |                                        | first, and a wake
///   left    | the waiter has given up                | the first -> first
///   first   | the first in the queue; after `left`   | -
///           | the node is the first's before         |
///
/// Invariant NO-LOST-WAKE: the thread that sleeps has announced it by a compare-and-swap
/// of the word that it sleeps on, and the thread that changes that word, by one step,
/// sees the announcement.
template <class Env>
struct shfl_park {
  static constexpr lockwright::waiting policy = waiting::spin_then_park;
  using link_wait = spin_then_park<Env>;

  static constexpr tunable patience{
      .name = "patience-ns",
      .default_value = 1'000'000,
      .counted_in = unit::nanoseconds,
      .min = 0,
      .max = std::uint64_t{1} << 50,
      .model_value = 2'500,
      .meaning = "how long the first in the queue lets others steal the lock",
      .source =
          "a fraction of a time slice, so that stealing bridges the absence of a waiter and "
          "starves no waiter"};
  static constexpr tunable looks{
      .name = "looks",
      .default_value = 32,
      .counted_in = unit::count,
      .min = 0,
      .max = 1u << 20,
      .model_value = 1,
      .meaning = "how often an arriving thread tries to steal the lock before it queues",
      .source =
          "as long as a few short sections, and much shorter than a waiter takes to wake up; of 4 "
          "to 256, what kept two processors busiest without slowing them down"};
  static constexpr tunable_list<3> tunables{&spin_bound, &patience, &looks};

  class words {
   public:
    bool steal() {
      std::uint32_t free = 0;
      // Acquire pairs with the release in release().
      return word_.load(std::memory_order_relaxed) == free &&
             word_.compare_exchange_strong(free, held_, std::memory_order_acquire,
                                           std::memory_order_relaxed);
    }

    bool steal_soon() {
      for (std::uint64_t left = Env::template value<looks>(); left != 0; --left) {
        Env::relax();
        if (steal()) {
          return true;
        }
      }
      return false;
    }

    [[nodiscard]] bool is_free() const {
      return (word_.load(std::memory_order_relaxed) & held_) == 0;
    }

    void release() {
      if ((word_.fetch_and(no_stealing_, std::memory_order_release) & first_sleeps_) != 0)
          [[unlikely]] {
        Env::wake(word_, 1);
      }
    }

   private:
    friend struct shfl_park;

    typename Env::template atomic<std::uint32_t> word_{};
  };

  class first {
   public:
    first(words& lock, bool) : lock_(lock) {}

    /// False if the deadline came first.
    bool await_free(std::uint64_t deadline) {
      for (;;) {
        for (std::uint32_t i = 0; i < polls_per_clock_; ++i) {
          if (lock_.is_free()) {
            return true;
          }
          Env::relax();
        }
        const std::uint64_t now = Env::now();
        if (sleep_at_ == 0) {
          sleep_at_ = now + Env::template value<spin_bound>();
          bar_at_ = bar_at_ == 0 ? now + Env::template value<patience>() : bar_at_;
        }
        if (now >= bar_at_ && barred_ == 0) {
          barred_ = no_stealing_;
          lock_.word_.fetch_or(no_stealing_, std::memory_order_relaxed);
        }
        if (now >= deadline) {
          return false;
        }
        if (now >= sleep_at_) {
          sleep(deadline);
          sleep_at_ = 0;
        }
      }
    }

    /// Allows stealing again.
    bool take() {
      std::uint32_t free = barred_;
      // As in words::steal().
      return lock_.word_.compare_exchange_strong(free, held_, std::memory_order_acquire,
                                                 std::memory_order_relaxed);
    }

    void leave(bool) {}

    /// Called instead of take(): allows stealing again.
    void give_up() {
      if (barred_ != 0) {
        lock_.word_.fetch_and(~no_stealing_, std::memory_order_relaxed);
      }
    }

   private:
    /// Sleeps until the lock is released, if it is held. Relaxed: take() acquires.
    void sleep(std::uint64_t deadline) {
      std::uint32_t seen = held_ | barred_;
      const std::uint32_t announced = seen | first_sleeps_;
      if (lock_.word_.compare_exchange_strong(seen, announced, std::memory_order_relaxed,
                                              std::memory_order_relaxed) ||
          seen == announced) {
        sleep_on<Env>(lock_.word_, announced, deadline);
      }
    }

    words& lock_;
    std::uint64_t sleep_at_ = 0;
    std::uint64_t bar_at_ = 0;
    std::uint32_t barred_ = 0;  // no_stealing_ once the first has set it
  };

  class cell {
   public:
    void arm() { word_.store(waiting_, std::memory_order_relaxed); }

    [[nodiscard]] bool is_first() const { return word_.load(std::memory_order_acquire) == first_; }

    /// False if the owner has left at the deadline.
    template <class Between>
    bool await_first(std::uint64_t deadline, Between between) {
      std::uint64_t sleep_at = 0;
      for (;;) {
        for (std::uint32_t i = 0; i < polls_per_clock_; ++i) {
          if (is_first()) {
            return true;
          }
          Env::relax();
        }
        between();
        const std::uint64_t now = Env::now();
        if (sleep_at == 0) {
          sleep_at = now + Env::template value<spin_bound>();
        }
        if (now >= deadline) {
          if (leave()) {
            return false;
          }
        } else if (now >= sleep_at) {
          sleep(deadline);
          sleep_at = 0;
        }
      }
    }

    /// False if the owner has left: the node is the caller's. Release, as the store of shfl_spin.
    /// Acquire: what an owner that left did to its node, and to those behind.
    bool make_first() {
      const std::uint32_t seen = word_.exchange(first_, std::memory_order_acq_rel);
      if (seen == parked_) {
        Env::wake(word_, 1);
      }
      return seen != left_;
    }

    /// Wakes the owner, which becomes the first soon. Relaxed: it orders nothing.
    void wake_ahead() {
      std::uint32_t seen = parked_;
      if (word_.load(std::memory_order_relaxed) == parked_ &&
          word_.compare_exchange_strong(seen, waiting_, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
        Env::wake(word_, 1);
      }
    }

   private:
    static constexpr std::uint32_t waiting_ = 0;
    static constexpr std::uint32_t first_ = 1;
    static constexpr std::uint32_t parked_ = 2;
    static constexpr std::uint32_t left_ = 3;

    /// Relaxed: it only announces that the waiter sleeps.
    void sleep(std::uint64_t deadline) {
      std::uint32_t seen = waiting_;
      if (word_.compare_exchange_strong(seen, parked_, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
        do {
          sleep_on<Env>(word_, parked_, deadline);
        } while (word_.load(std::memory_order_relaxed) == parked_ && Env::now() < deadline);
      }
    }

    /// False if the owner is the first by now.
    bool leave() {
      std::uint32_t seen = word_.load(std::memory_order_relaxed);
      // Release: the thread that passes over the node gives it back.
      while (seen != first_ && !word_.compare_exchange_weak(seen, left_, std::memory_order_release,
                                                            std::memory_order_relaxed)) {
      }
      return seen != first_;
    }

    typename Env::template atomic<std::uint32_t> word_{};
  };

 private:
  // The clock costs about as much as a pause or two.
  static constexpr std::uint32_t polls_per_clock_ = 2;

  static constexpr std::uint32_t held_ = 1;
  static constexpr std::uint32_t first_sleeps_ = 2;
  static constexpr std::uint32_t no_stealing_ = 4;
};

template <class Env, template <class> class Waiting>
class shfllock {
  using wait_policy = Waiting<Env>;

  struct alignas(64) node {
    typename Env::template atomic<node*> next{};
    typename wait_policy::cell cell;
    typename Env::template atomic<std::uint32_t> shuffler{};
    typename Env::template plain<std::uint32_t> numa{};
    typename Env::template plain<std::uint64_t> batch{};
  };

 public:
  static constexpr lock_traits traits{
      .category = category::hierarchical,
      .waiting = wait_policy::policy,
      .realtime = own_order_unless_polling(wait_policy::policy),
      .light = true,
      .numa_aware = true,
      .node_bytes = sizeof(node),
      .atomics = {.lock = 1, .unlock = wait_policy::policy == waiting::spin ? 0 : 1},
      .suits = wait_policy::policy == waiting::spin
                   ? suit_list{{{use_case::extreme_contention, 7,
                                 "hands over within a node, in two words"}}}
                   : suit_list{{{use_case::crowded, 13, "keeps to a NUMA node, and parks"}}},
      .reference = "Kashyap, Calciu, Cheng, Min and Kim, SOSP 2019",
      .summary =
          wait_policy::policy == waiting::spin
              ? "Test-and-set with a queue whose waiters bring those of their own NUMA node "
                "forward while they wait. Light when uncontended, and NUMA-aware with one small "
                "lock word."
              : "Test-and-set with a queue whose waiters bring those of their own NUMA node "
                "forward while they wait, and then sleep. Light, and survives over-subscription, "
                "because arriving threads may take the lock while the first in the queue sleeps."};

  static constexpr tunable batch{
      .name = "batch",
      .default_value = 1024,
      .counted_in = unit::count,
      .min = 1,
      .max = std::uint64_t{1} << 32,
      .model_value = 4,
      .meaning = "how many waiters of one NUMA node are brought together, at most",
      .source = "its authors' MAX_SHUFFLES (SOSP 2019)"};
  /// With fewer threads no thread is moved in the queue: it takes a holder, a shuffler, one to pass
  /// over, one to move, and the last, which stays.
  static constexpr std::uint32_t checked_threads = 5;
  static constexpr auto tunables = join(wait_policy::tunables, tunable_list<1>{&batch});

  /// No deadline.
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  arrival lock() {
    if (try_lock()) [[likely]] {
      return arrival::uncontended;
    }
    wait_and_take(never);
    return arrival::contended;
  }

  bool try_lock_until(std::uint64_t deadline)
    requires(wait_policy::policy != waiting::spin)
  {
    return try_lock() || wait_and_take(deadline);
  }

  bool try_lock() { return words_.steal(); }

  void unlock() { words_.release(); }

 private:
  /// False if the deadline came first.
  bool wait_and_take(std::uint64_t deadline) {
    // Relaxed: a guess whether a queue is ahead of this thread.
    return (tail_.load(std::memory_order_relaxed) != nullptr && words_.steal_soon()) ||
           queue_and_take(deadline);
  }

  [[gnu::noinline]] bool queue_and_take(std::uint64_t deadline) {
    node* me = Env::template take_node<node>();
    me->next.store(nullptr, std::memory_order_relaxed);
    me->cell.arm();
    me->shuffler.store(0, std::memory_order_relaxed);
    me->numa = Env::node();
    me->batch = 0;
    // Release publishes the node (pairs with the acquire of next and tail by others); acquire
    // pairs with the predecessor's exchange, so that its node is initialised.
    node* before = tail_.exchange(me, std::memory_order_acq_rel);
    if (before != nullptr) {
      // Release pairs with the acquire loads of next by the shuffler and the first.
      before->next.store(me, std::memory_order_release);
      const bool is_first = me->cell.await_first(deadline, [this, me] {
        if (is_marked(*me)) {
          shuffle(*me, [me] { return me->cell.is_first(); });
        }
      });
      if (!is_first) {
        return false;
      }
    }
    typename wait_policy::first first(words_, before == nullptr);
    const bool is_taken = take_as_first(*me, first, deadline);
    if (!is_taken) {
      first.give_up();
    }
    first.leave(leave_queue(me));
    return is_taken;
  }

  /// False if the deadline came first.
  bool take_as_first(node& me, typename wait_policy::first& first, std::uint64_t deadline) {
    bool behind_is_awake = false;
    do {
      if (me.batch == 0 || is_marked(me)) {
        shuffle(me, [this] { return words_.is_free(); });
      }
      if (!first.await_free(deadline)) {
        return false;
      }
      if (!behind_is_awake) {
        if (node* behind = me.next.load(std::memory_order_acquire)) {
          behind->cell.wake_ahead();
        }
        behind_is_awake = true;
      }
    } while (!first.take());
    return true;
  }

  /// Called by the first, once it holds the lock or gives up: makes the next waiter the first, and
  /// gives back the nodes before it. True if there is none.
  bool leave_queue(node* me) {
    for (;;) {
      // Acquire, here and below, pairs with the release store in queue_and_take().
      node* behind = me->next.load(std::memory_order_acquire);
      if (behind == nullptr) {
        node* last = me;
        // Relaxed: the thread that finds the queue empty reads nothing of this one's.
        if (tail_.compare_exchange_strong(last, nullptr, std::memory_order_relaxed,
                                          std::memory_order_relaxed)) {
          Env::give_node(me);
          return true;
        }
        behind = await_link<typename wait_policy::link_wait>(me->next);
      }
      const bool is_there = behind->cell.make_first();
      Env::give_node(me);
      if (is_there) {
        return false;
      }
      me = behind;
    }
  }

  // Acquire pairs with the release at the end of shuffle(), which publishes groups and links.
  static bool is_marked(const node& me) { return me.shuffler.load(std::memory_order_acquire) != 0; }

  /// Moves waiters of the caller's NUMA node right behind it, until `stop()` or a waiter that
  /// is not linked yet. Links between waiters are stored relaxed: others follow them after the
  /// mark or make_first() from here.
  template <class Stop>
  void shuffle(node& me, Stop stop) {
    const std::uint64_t limit = Env::template value<batch>();
    const std::uint32_t my_numa = me.numa;
    std::uint64_t members = me.batch;
    if (members == 0) {
      me.batch = members = 1;
    }
    me.shuffler.store(0, std::memory_order_relaxed);
    node* last_member = &me;
    node* before = &me;
    while (members < limit) {
      node* waiter = before->next.load(std::memory_order_acquire);
      if (waiter == nullptr || waiter == tail_.load(std::memory_order_relaxed)) {
        break;
      }
      if (waiter->numa != my_numa) {
        before = waiter;
      } else if (before == last_member) {
        waiter->batch = ++members;
        before = last_member = waiter;
      } else {
        node* after = waiter->next.load(std::memory_order_acquire);
        if (after == nullptr) {
          break;
        }
        waiter->batch = ++members;
        before->next.store(after, std::memory_order_relaxed);
        waiter->next.store(last_member->next.load(std::memory_order_relaxed),
                           std::memory_order_relaxed);
        last_member->next.store(waiter, std::memory_order_relaxed);
        last_member = waiter;
      }
      if (stop()) {
        break;
      }
    }
    if (members < limit) {
      last_member->shuffler.store(1, std::memory_order_release);
    }
  }

  typename wait_policy::words words_;
  typename Env::template atomic<node*> tail_{};
};

}  // namespace lockwright
