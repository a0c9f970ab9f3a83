// adaptive: a mutex that adapts to its load. A thread takes a free lock at once, a few threads poll
// for it as long as that has paid, and the others sleep on a stack; an unlock wakes none of them
// while a thread is on its way to the lock, and the oldest are served within a bounded time. On
// several NUMA nodes the lock stays with the threads of one of them as long as these suffice.
//
// Citation: none for the whole. Sleepers last come first: D. Dice, "Malthusian Locks", EuroSys 2017.
//
// This file has the mechanism, and what is proved of it. adaptive/advice.hpp has the decisions that
// only cost time, what they are learnt from, and the tunables.
//
// Invariants
//   EXCLUSION    only the thread that set held_, or was granted the lock, is inside.
//   ONE-POPPER   only the holder takes nodes off the stack and changes the elders.
//   RESPONSIBLE  when the lock becomes free while threads sleep, a poller is registered, an heir
//                is on its way or rests, or one of the sleepers is a watch.
//   WATCH        an unlock that sees no sleeper, or a thread on its way, frees the lock by a plain
//                store, and may miss a thread that goes to sleep in between. So a thread that goes
//                to sleep as the first one, or was the last one on its way, is a watch: it sleeps
//                for bounded times, and takes the lock if it finds it free.
//   LAST-TOUCH   an unlock does not touch the lock after the store that frees it.
//   ADVICE       no invariant depends on what the advice says.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/lock/adaptive/advice.hpp"
#include "lockwright/parts/wait.hpp"

namespace lockwright {

template <class Env>
class adaptive : public adaptive_tunables {
  using advice = adaptive_advice<Env>;

  // The word. Its low byte is 0 when the lock is free. Its high half is 0 when an unlock need not
  // look further: no thread sleeps and none has reserved the lock.
  static constexpr std::uint64_t low_byte_ = 0xff;
  static constexpr std::uint64_t held_ = 1;  // a thread is inside
  static constexpr std::uint64_t slow_ = 2;  // the holder came by wait_and_lock(): advice
  static constexpr std::uint64_t reserved_ = std::uint64_t{1} << 60 | 4;  // for an aged heir alone
  static constexpr std::uint64_t heir_ = 1 << 8;      // a woken sleeper is on its way, or rests
  static constexpr std::uint64_t signals_ = 1 << 11;  // a condition variable goes with it: advice
  static constexpr std::uint64_t one_poller_ = 1 << 12;
  static constexpr std::uint64_t pollers_ = 7 * one_poller_;  // registered ones; heirs poll as well
  // The last sleeper that came. Nodes are multiples of 64 below 2^48.
  static constexpr std::uint64_t stack_ = ((std::uint64_t{1} << 42) - 1) << 16;
  static constexpr std::uint64_t owed_ = std::uint64_t{1} << 61;    // to an aged sleeper
  static constexpr std::uint64_t elders_ = std::uint64_t{1} << 62;  // there are elders

  // The state, which only the holder writes, has elders where the word has the stack: sleepers taken
  // off the stack in a batch, a list from the oldest on. Its other bits are advice.
  struct alignas(64) node {
    // On the stack the sleeper that came before, among the elders the one that came after.
    typename Env::template plain<node*> next{};
    typename Env::template plain<std::uint64_t> due{};       // of the oldest elder: when to wake it
    typename Env::template plain<std::uint64_t> interval{};  // of the oldest: from it to the next
    typename Env::template plain<std::uint64_t> suppressed_since{};  // advice
    typename Env::template plain<std::uint8_t> home{};               // where it went to sleep
    typename Env::template plain<bool> aged{};                       // woken because it was due
    typename Env::template plain<bool> owns{};  // granted the lock, and not leave to compete for it
    spin_then_park<Env> cell;
  };

 public:
  static constexpr lock_traits traits{
      .category = category::load_control,
      .waiting = waiting::spin_then_park,
      .realtime = realtime::own_order,
      .light = true,
      .numa_aware = true,
      .node_bytes = sizeof(node),
      .yields = true,
      .low_traffic = true,
      .atomics = {.lock = 1, .unlock = 0},
      .suits =
          {{{use_case::crowded, 2, "wakes no sleeper while a thread is on its way to the lock"},
            {use_case::low_contention, 1, "one atomic operation for lock and unlock together"}}},
      .is_default = true,
      .patents = "near US 11,314,562 and 8,046,758; docs/patents.md",
      .reference = "barging, adaptive polling and sleepers last come first; see the header",
      .summary =
          "Takes a free lock at once, polls as long as that pays, and sleeps last come first, with "
          "a bound in time for the oldest. Adapts to its load, to be used without choosing."};
  static constexpr int checked_threads = 4;

  arrival lock() {
    if (try_lock()) [[likely]] {
      return arrival::uncontended;
    }
    return wait_and_lock();
  }

  /// The rest of lock() once try_lock() has failed.
  [[gnu::noinline]] arrival wait_and_lock() {
    waiter me{.lock = *this, .seen = word_.load(std::memory_order_relaxed)};
    node* mine = nullptr;
    while (!contend(me)) {
      if (mine == nullptr) {
        mine = Env::template take_node<node>();
      }
      if (me.own == heir_ && advice::rests(me, me.experience)) {
        mine->cell.arm();
        mine->cell.park_until(Env::now() + advice::rest);
        me.may_poll = true;
        me.look();
        continue;
      }
      if (!push(mine, me)) {
        if (me.experience.failures++ != 0) {
          Env::delay(me.experience.delays.next());
          me.look();
        }
        continue;
      }
      me.experience.sleeps();
      if (me.may_be_missed()) {
        watch(mine);
      } else {
        mine->cell.park();
      }
      if (mine->owns) {
        break;
      }
      me.own = heir_;
      me.aged = mine->aged;
      me.may_poll = true;
      me.look();
    }
    if (mine != nullptr) {
      Env::give_node(mine);
    }
    if (!me.experience.waited) {
      return arrival::uncontended;
    }
    advice known{me.state()};
    known.learn(me.experience, stack_of(known.state()));
    state_.store(known.state(), std::memory_order_relaxed);
    return arrival::contended;
  }

  // Acquire, here and wherever held_ is set, pairs with the release that freed the lock.
  bool try_lock() { return Env::set_low_byte(word_); }

  void unlock() {
    if (Env::high_half(word_) == 0) [[likely]] {
      Env::clear_low_byte(word_);
    } else {
      unlock_with_sleepers();
    }
  }

  /// For the holder, before it waits for a condition variable. Threads that wait for each other's
  /// messages switch less often if some sleep, so that those that run handle many messages.
  void expect_signals() {
    if ((std::uint64_t{Env::second_byte(word_)} << 8 & signals_) == 0) {
      word_.fetch_or(signals_, std::memory_order_relaxed);
    }
  }

 private:
  static node* stack_of(std::uint64_t word) {
    return reinterpret_cast<node*>((word & stack_) >> 10);
  }
  static std::uint64_t word_of(const node* top, std::uint64_t tags) {
    return reinterpret_cast<std::uint64_t>(top) << 10 | tags;
  }

  /// A thread in wait_and_lock(), with the word as it saw it last.
  struct waiter {
    adaptive& lock;
    std::uint64_t seen;
    std::uint64_t own = 0;  // its tags in the word
    bool aged = false;
    bool may_poll = true;  // it has not, since it slept
    typename advice::experience experience{};

    bool look() {
      seen = lock.word_.load(std::memory_order_relaxed);
      return is_free();
    }
    bool is_free() const { return (seen & low_byte_ & ~own) == 0; }
    /// The word without the thread's own tags: one_poller_ or heir_, and reserved_.
    std::uint64_t without_own() const {
      return (seen - (own & one_poller_)) & ~(own & (heir_ | reserved_));
    }
    /// Whether an unlock that is under way may miss this thread, which goes to sleep: it was the
    /// last one on its way, or there was no sleeper.
    bool may_be_missed() const {
      return (without_own() & (heir_ | pollers_)) == 0 &&
             (own != 0 || (stack_of(seen) == nullptr && (seen & elders_) == 0));
    }
    bool reserves() const { return (own & reserved_) != 0; }
    bool signals() const { return (seen & signals_) != 0; }
    bool holder_has_waited() const { return (seen & slow_) != 0; }
    std::uint64_t pollers() const { return (seen & pollers_) / one_poller_; }
    std::uint64_t state() const { return lock.state_.load(std::memory_order_relaxed); }

    /// Replaces the word by `to` if it is as seen. Relaxed where nothing is published.
    bool replace(std::uint64_t to, std::memory_order order) {
      return lock.word_.compare_exchange_strong(seen, to, order, std::memory_order_relaxed);
    }
  };

  /// Takes the lock, or returns false once the caller has to sleep.
  static bool contend(waiter& me) {
    for (;;) {
      if (me.is_free()) {
        const std::uint64_t tag = me.experience.waited ? held_ | slow_ : held_;
        if (me.replace(me.without_own() | tag, std::memory_order_acquire)) {
          return true;
        }
      } else if (me.may_poll) {
        std::uint64_t tag = 0;
        if (me.own == 0 && advice::may_poll(me)) {
          tag = one_poller_;
        } else if (me.aged && (me.seen & reserved_) == 0) {
          tag = reserved_;
        }
        if (tag != 0 && !me.replace(me.seen + tag, std::memory_order_relaxed)) {
          continue;
        }
        me.own |= tag;
        me.may_poll = false;
        if (me.own != 0) {
          advice::poll(me, me.experience);
        }
      } else if (advice::yields(me, me.experience)) {
        me.look();
      } else {
        return false;
      }
    }
  }

  /// Pushes the caller's node, unless the word has changed.
  static bool push(node* mine, waiter& me) {
    mine->next = stack_of(me.seen);
    mine->suppressed_since = 0;
    mine->aged = me.aged;
    mine->home = static_cast<std::uint8_t>(advice::here());
    mine->cell.arm();
    // Release publishes the node to the holder.
    return me.replace(word_of(mine, (me.without_own() & ~stack_) | (me.aged ? owed_ : 0)),
                      std::memory_order_release);
  }

  /// Waits as a watch. The caller is granted what another thread grants it, or has taken the lock.
  void watch(node* mine) {
    std::uint64_t pause = 1'000'000;  // ns: less than a time slice of the kernel's scheduler
    for (std::uint32_t looks = 1;; ++looks) {
      if ((word_.load(std::memory_order_relaxed) & low_byte_) == 0 && Env::set_low_byte(word_)) {
        if (take(word_.load(std::memory_order_acquire), [=](node* each) { return each == mine; })) {
          mine->owns = true;
          return;
        }
        // An unlock since the push has taken the node off the stack, so none can miss it any more.
        unlock();
        mine->cell.park();
        return;
      }
      if (looks < 8) {  // the holder may be between its last look and its release
        Env::relax();
      } else if (mine->cell.park_until(Env::now() + pause)) {
        return;
      } else if (pause < 500'000'000) {
        pause *= 2;
      }
    }
  }

  /// For the holder: takes the first sleeper for which `is` off the stack; null if there is none.
  template <class Is>
  node* take(std::uint64_t seen, Is is) {
    for (;;) {
      node* above = nullptr;
      node* each = stack_of(seen);
      for (; each != nullptr && !is(each); each = each->next) {
        above = each;
      }
      if (each == nullptr) {
        return nullptr;
      }
      node* rest = each->next;
      if (above != nullptr) {
        above->next = rest;
        return each;
      }
      // Relaxed: nothing is handed over.
      if (word_.compare_exchange_strong(seen, word_of(rest, seen & ~stack_),
                                        std::memory_order_relaxed, std::memory_order_acquire)) {
        return each;
      }
    }
  }

  [[gnu::noinline]] void unlock_with_sleepers() {
    advice known{state_.load(std::memory_order_relaxed)};
    if (may_rely_on_another() && known.relies_on_another()) {
      state_.store(known.state(), std::memory_order_relaxed);
      Env::clear_low_byte(word_);
      return;
    }
    // Acquire pairs with the release of the pushes: the nodes are seen.
    std::uint64_t seen = word_.load(std::memory_order_acquire);
    if ((seen & owed_) != 0) {
      word_.fetch_and(~owed_, std::memory_order_relaxed);
      if (node* next = take(seen & ~owed_, [](const node* each) -> bool { return each->aged; })) {
        grant(next, true);
        return;
      }
    }
    node* elders = stack_of(known.state());
    node* oldest = elders != nullptr ? elders : batch_below(stack_of(seen));
    node* heir = nullptr;  // to be woken, once it is neither on the stack nor an elder
    for (;;) {
      const std::uint64_t tags = seen & ~stack_ & ~(held_ | slow_ | elders_);
      node* top = stack_of(seen);
      node* next = heir;
      if (heir == nullptr && wakes(tags, top != nullptr ? top : oldest, known)) {
        heir = take_elder(oldest, known, top == nullptr);
        if (node* above =
                heir == nullptr ? known.above_preferred(top, (tags & signals_) != 0) : nullptr) {
          heir = above->next;
          above->next = heir->next;
        }
        next = heir != nullptr ? heir : top;
      }
      node* rest = next != nullptr && next == top ? top->next : top;
      // From here on the lock may be gone. Release hands the section's writes over.
      state_.store(word_of(oldest, known.state() & ~stack_), std::memory_order_relaxed);
      const std::uint64_t left =
          tags | (next != nullptr ? heir_ : 0) | (oldest != nullptr ? elders_ : 0);
      if (word_.compare_exchange_strong(seen, word_of(rest, left), std::memory_order_release,
                                        std::memory_order_acquire)) {
        if (next != nullptr) {
          grant(next, false);
        }
        return;
      }
    }
  }

  /// Whether a thread is on its way to the lock, and none has reserved it.
  bool may_rely_on_another() {
    return (std::uint64_t{Env::high_half(word_)} << 32 & (reserved_ | owed_)) == 0 &&
           (std::uint64_t{Env::second_byte(word_)} << 8 & (heir_ | pollers_)) != 0;
  }

  /// Whether an unlock wakes a sleeper. next: one of those that there are, or null.
  static bool wakes(std::uint64_t tags, node* next, advice& known) {
    return next != nullptr && ((tags & (heir_ | pollers_)) == 0 ||
                               ((tags & reserved_) == 0 && known.wakes_another(*next)));
  }

  /// Makes elders of the sleepers below `top`; returns the oldest, or null if there are none.
  static node* batch_below(node* top) {
    if (top == nullptr || top->next == nullptr) {
      return nullptr;
    }
    node* oldest = nullptr;
    std::uint64_t count = 0;
    for (node* each = top->next; each != nullptr; ++count) {
      node* before = each->next;
      each->next = oldest;
      oldest = each;
      each = before;
    }
    top->next = nullptr;
    oldest->interval = advice::interval(count);
    oldest->due = Env::now() + oldest->interval;
    return oldest;
  }

  /// Takes the oldest elder off the list if it is due, or no other thread sleeps (`alone`).
  static node* take_elder(node*& oldest, advice& known, bool alone) {
    node* elder = oldest;
    if (elder == nullptr || !(known.serves(*elder) || alone)) {
      return nullptr;
    }
    oldest = elder->next;
    if (oldest != nullptr) {
      oldest->interval = elder->interval;
      oldest->due = Env::now() + elder->interval;
    }
    return elder;
  }

  static void grant(node* to, bool owns) {
    to->owns = owns;
    to->cell.grant();
  }

  typename Env::template atomic<std::uint64_t> word_{};
  typename Env::template atomic<std::uint64_t> state_{};
};

}  // namespace lockwright
