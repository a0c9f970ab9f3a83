// adaptive: a mutex that adapts to its load. A thread takes a free lock at once, a few threads poll
// for it as long as that has paid, and the others sleep on a stack; an unlock wakes none of them
// while a thread is on its way to the lock, and the oldest are served within a bounded time. On
// several NUMA nodes the lock stays with the threads of one of them as long as these suffice.
//
// Citation: none for the whole. Adaptive polling: Mauro and McDougall, Solaris Internals, 2000.
// Sleepers last come first, and wakes suppressed for a thread on its way: D. Dice, HotSpot's
// ObjectMonitor, and "Malthusian Locks", EuroSys 2017.
//
// adaptive/layout.hpp describes the two words, adaptive/sleepers.hpp the nodes, and
// adaptive/tunables.hpp the numbers.
//
// Invariants
//   EXCLUSION    only the thread that set held_, or was granted the lock, is inside.
//   ONE-POPPER   only the holder takes nodes off the stack and changes the elders.
//   RESPONSIBLE  when the lock becomes free while threads sleep, a poller is registered, an heir
//                is on its way or naps, or one of the sleepers is a watch.
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
#include "lockwright/lock/adaptive/layout.hpp"
#include "lockwright/lock/adaptive/sleepers.hpp"
#include "lockwright/lock/adaptive/tunables.hpp"
#include "lockwright/parts/growing_delay.hpp"

namespace lockwright {

template <class Env>
class adaptive : public adaptive_tunables, private adaptive_layout {
  enum : std::uint8_t { come_, lock_ };  // grant

  using sleepers = adaptive_sleepers<Env>;
  using node = typename sleepers::node;

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
      .patents =
          "near US 11,314,562 (concurrency restriction) and 8,046,758 (adaptive spinning); "
          "docs/patents.md",
      .reference = "barging, adaptive polling and sleepers last come first; see the header",
      .summary =
          "Takes a free lock at once, polls as long as that pays, and sleeps last come first, with "
          "a bound in time for the oldest. Adapts to its load, to be used without choosing."};

  arrival lock() {
    if (try_lock()) [[likely]] {
      return arrival::uncontended;
    }
    return wait_and_lock();
  }

  /// The rest of lock() once try_lock() has failed.
  [[gnu::noinline]] arrival wait_and_lock() {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    waiting_record record;
    std::uint64_t own = 0;  // this thread's tags in the word
    bool aged = false;
    bool has_polled = false;
    std::uint64_t naps_left = 0;
    std::uint64_t yields_left = Env::template value<yields>();
    // Without delays, each of many threads that come at once fails to push its node as often as
    // there are threads before it, and the line moves a quadratic number of times. Each
    // processor may have an attempt under way.
    std::uint32_t failures = 0;
    const std::uint64_t longest_delay = Env::template value<backoff>() * Env::cpus();
    growing_delay delay(longest_delay / longest_over_shortest_delay_, longest_delay);
    for (;;) {
      if (is_free(seen, own)) {
        std::uint64_t taken = without(seen, own) | held_ | (record.waited() ? slow_ : 0);
        if (own == heir_) {
          if (record.polls) {
            taken &= ~early_;
          } else if ((taken & two_early_) == 0) {
            taken += one_early_;
          }
        }
        if (word_.compare_exchange_strong(seen, taken, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
          if (record.waited()) {
            learn(record);
          }
          break;
        }
        continue;
      }
      if (!has_polled) {
        if (own == 0 && may_poll(seen)) {
          // Relaxed, as the next one: the tags publish nothing.
          if (!word_.compare_exchange_strong(seen, seen + one_poller_, std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
            continue;
          }
          own = one_poller_;
        } else if (aged && (seen & reserved_) == 0) {
          if (!word_.compare_exchange_strong(seen, seen | reserved_, std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
            continue;
          }
          own |= reserved_;
        }
        has_polled = true;
        if (own != 0) {
          record.polled = record.polls = true;
          seen = poll(seen, own, record);
          continue;
        }
      }
      if (yields_left != 0 && may_yield(seen)) {
        record.yielded = true;
        record.polled_in_vain |= record.polls;
        const std::uint64_t start = Env::now();
        Env::yield();
        yields_left = Env::now() - start < others_run_ ? 0 : yields_left - 1;
        seen = word_.load(std::memory_order_relaxed);
        continue;
      }
      if (record.me == nullptr) {
        record.me = Env::template take_node<node>();
      }
      node* me = record.me;
      if (own == heir_ && naps_left != 0 && record.polls) {
        --naps_left;
        me->cell.arm();
        me->cell.park_until(Env::now() + Env::template value<nap>());
        seen = poll(seen, own, record);
        continue;
      }
      me->below = stack_of(seen);
      me->suppressed_since = 0;
      me->aged = aged;
      if (prefers_node()) {
        me->home = static_cast<std::uint8_t>(here());
      }
      me->cell.arm();
      // Release publishes the node to the holder.
      if (!word_.compare_exchange_strong(
              seen, word_of(me, (without(seen, own) & tags_) | (aged ? owed_ : 0)),
              std::memory_order_release, std::memory_order_relaxed)) {
        if (++failures > free_failures_) {
          Env::delay(delay.next());
          seen = word_.load(std::memory_order_relaxed);
        }
        continue;
      }
      yields_left = 0;
      record.slept = true;
      record.polled_in_vain |= record.polls;
      record.polls = false;
      if (may_be_missed(seen, own)) {
        if (!watch(me)) {
          learn(record);
          break;
        }
      } else {
        me->cell.park();
      }
      if (me->grant == lock_) {
        learn(record);
        break;
      }
      own = heir_;
      naps_left = Env::template value<naps>();
      aged = me->aged;
      has_polled = false;
      seen = word_.load(std::memory_order_relaxed);
    }
    if (record.me != nullptr) {
      Env::give_node(record.me);
    }
    return record.waited() ? arrival::contended : arrival::uncontended;
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

  static constexpr int checked_threads = 4;

 private:
  /// What a second look at a free lock shows.
  enum class demand : std::uint8_t {
    unknown,  ///< there was no second look
    low,      ///< the lock stays free for a moment
    high,     ///< it is taken again at once
  };

  /// How a thread has waited for the lock.
  struct waiting_record {
    node* me = nullptr;
    std::uint64_t now = 0;  // the last reading of the clock; 0: none
    bool polls = false;     // since it slept last
    bool polled = false;
    bool polled_in_vain = false;
    bool yielded = false;
    bool slept = false;
    demand found = demand::unknown;

    bool waited() const { return polled || yielded || slept; }
  };

  static node* stack_of(std::uint64_t word) { return sleepers::stack_of(word); }

  // In that many polls a release that is under way becomes visible.
  static constexpr std::uint32_t watch_polls_ = 8;
  static constexpr std::uint64_t looks_of_a_tenure_ = 8;
  static constexpr std::uint64_t max_pause_ = 500'000'000;
  static constexpr std::uint32_t free_failures_ = 1;
  // Nanoseconds; a yield that finds no other thread to run takes less.
  static constexpr std::uint64_t others_run_ = 1'000;
  static constexpr std::uint64_t longest_over_shortest_delay_ = 16;

  static constexpr std::uint64_t budget_default_ = 16;
  static constexpr std::uint64_t budget_least_ = 2;
  static constexpr std::uint64_t budget_most_ = 31;

  /// Whether waiters usually get the lock by polling. If not, most sections wait for a wake, beside
  /// which the distance between the threads is small.
  static bool polling_pays(std::uint64_t state) {
    return (budget_.get(state) ^ budget_default_) >= budget_default_;
  }

  /// Whether the threads of the preferred node come first. With a condition variable it matters
  /// which thread runs next, not where.
  static bool stays_on_node(std::uint64_t word, std::uint64_t state) {
    return (word & signals_) == 0 && polling_pays(state);
  }

  /// Whether the lock prefers the threads of one NUMA node: `state` then names that node, and not
  /// the holder's processor.
  static bool prefers_node() { return Env::nodes() > 1 && Env::template value<local_depth>() != 0; }

  /// The caller's node or processor, plus 1.
  static std::uint64_t here() { return (prefers_node() ? Env::node() : Env::cpu()) % 63 + 1; }

  /// Whether the caller leaves the lock to the threads of another node.
  bool prefers_another_node(std::uint64_t seen) const {
    if (!prefers_node()) {
      return false;
    }
    const std::uint64_t state = state_.load(std::memory_order_relaxed);
    return Env::advice(stays_on_node(seen, state) && place_.get(state) != here());
  }

  /// Whether a waiter may yield before it sleeps. Where demand is high it would take the lock from
  /// its holder too often.
  bool may_yield(std::uint64_t seen) const {
    return Env::advice((seen & signals_) == 0 &&
                       hot_.get(state_.load(std::memory_order_relaxed)) == 0) &&
           !prefers_another_node(seen);
  }

  bool may_poll(std::uint64_t seen) const {
    if ((seen & pollers_) != 0 && prefers_another_node(seen)) {
      return false;
    }
    std::uint64_t most = Env::template value<most_pollers>();
    if (most == 0) {
      const std::uint32_t processors = Env::cpus();
      most = processors == 1 ? 0 : processors < 8 ? 1 : 2;
    }
    return (seen & pollers_) / one_poller_ < most;
  }

  /// Whether an unlock that is under way may miss a thread with those tags that goes to sleep: it
  /// was the last one on its way, or there was no sleeper.
  static bool may_be_missed(std::uint64_t word, std::uint64_t own) {
    return (without(word, own) & (heir_ | pollers_)) == 0 &&
           (own != 0 || (stack_of(word) == nullptr && (word & elders_) == 0));
  }

  /// Waits as a watch. Returns true once granted, false if the caller has taken the lock, and its
  /// node off the stack.
  bool watch(node* me) {
    std::uint64_t pause = Env::template value<recheck>();
    std::uint64_t deadline = 0;  // none: the holder may be between its last look and its release
    for (std::uint32_t polls = 0;;) {
      if (deadline != 0) {
        if (me->cell.park_until(deadline)) {
          return true;
        }
        pause = pause > max_pause_ ? pause : 2 * pause;
      }
      if ((word_.load(std::memory_order_relaxed) & low_byte_) == 0 && Env::set_low_byte(word_)) {
        if (take_off(me)) {
          return false;
        }
        // An unlock since the push has taken the node off the stack, so none can miss it any more.
        unlock();
        me->cell.park();
        return true;
      }
      if (polls < watch_polls_) {
        ++polls;
        Env::relax();
      } else {
        deadline = Env::now() + pause;
      }
    }
  }

  /// For the holder: takes a node off the stack; returns false if it is not there.
  bool take_off(node* me) {
    std::uint64_t seen = word_.load(std::memory_order_acquire);
    for (;;) {
      node* above = stack_of(seen);
      if (above == me) {
        // Relaxed: nothing is handed over.
        if (word_.compare_exchange_strong(seen, word_of(me->below, seen & tags_),
                                          std::memory_order_relaxed, std::memory_order_acquire)) {
          return true;
        }
        continue;
      }
      while (above != nullptr && above->below != me) {
        above = above->below;
      }
      if (above != nullptr) {
        above->below = me->below;
      }
      return above != nullptr;
    }
  }

  /// Returns the word once the lock is to be taken, or polling has lasted too long, or the holder
  /// cannot run because this thread does. Where demand is high, the caller leaves the lock to the
  /// holder for a while first: handing it over would take longer than the sections. Not with a
  /// condition variable: a thread that passes messages on does so only while it has the lock.
  std::uint64_t poll(std::uint64_t seen, std::uint64_t own, waiting_record& record) {
    constexpr std::uint32_t polls_per_clock = 16;
    std::uint64_t state = state_.load(std::memory_order_relaxed);
    bool looks_twice = (own & reserved_) == 0 &&
                       Env::advice((seen & signals_) == 0 &&
                                   (hot_.get(state) != 0 || acquisitions_.get(state) == 0));
    std::uint64_t end = 0;
    for (;;) {
      for (std::uint32_t i = 0; i < polls_per_clock; ++i) {
        seen = word_.load(std::memory_order_relaxed);
        if (is_free(seen, own)) {
          if (!looks_twice) {
            return seen;
          }
          looks_twice = false;
          if (stays_free(seen, own)) {
            record.found = demand::low;
            return seen;
          }
          record.found = demand::high;
          stay_away(seen, own);
          end = 0;
        }
        Env::relax();
      }
      state = state_.load(std::memory_order_relaxed);
      record.now = Env::now();
      if (end == 0) {
        end = record.now +
              Env::template value<poll_budget>() * (budget_.get(state) ^ budget_default_) / 16;
      }
      if (record.now >= end ||
          ((seen & slow_) != 0 && !prefers_node() && Env::advice(place_.get(state) == here()))) {
        return seen;
      }
    }
  }

  /// Whether the lock stays free for the time of `courtesy`.
  bool stays_free(std::uint64_t& seen, std::uint64_t own) {
    const std::uint64_t end = Env::now() + Env::template value<courtesy>();
    do {
      Env::relax();
      seen = word_.load(std::memory_order_relaxed);
      if (!is_free(seen, own)) {
        return false;
      }
    } while (Env::now() < end);
    return true;
  }

  /// Returns after the tenure, or once the lock stays free. Before each look the caller yields its
  /// processor to threads that could run, such as a woken sleeper.
  void stay_away(std::uint64_t& seen, std::uint64_t own) {
    const std::uint64_t length = Env::template value<tenure>();
    std::uint64_t now = Env::now();
    const std::uint64_t end = now + length;
    while (now < end) {
      const std::uint64_t look = now + length / looks_of_a_tenure_;
      do {
        Env::relax();
        now = Env::now();
      } while (now < look);
      Env::yield();
      if (stays_free(seen, own)) {
        return;
      }
    }
  }

  /// For the holder: derives the advice for later waiters from how it has waited itself.
  void learn(const waiting_record& record) {
    std::uint64_t state = state_.load(std::memory_order_relaxed);
    std::uint64_t budget = budget_.get(state) ^ budget_default_;
    if (record.polled_in_vain) {
      budget = budget > budget_least_ + 1 ? budget - 1 : budget_least_;
    } else if (record.polled) {
      budget = budget + 1 < budget_most_ ? budget + 1 : budget_most_;
    }
    const std::uint64_t count = (acquisitions_.get(state) + 1) % 8;
    state = budget_.set(state, budget ^ budget_default_);
    state = acquisitions_.set(state, count);
    if (!prefers_node() || !polling_pays(state) || place_.get(state) == 0) {
      state = place_.set(state, here());
    }
    state = suppressed_.set(state, 0);
    state = is_timed_.set(state, 0);
    if (record.found != demand::unknown) {
      const std::uint64_t hot = hot_.get(state);
      state = hot_.set(state, record.found == demand::high ? hot_.mask : hot == 0 ? 0 : hot - 1);
    }
    if (const node* oldest = stack_of(state);
        oldest != nullptr && (count == 0 || record.now != 0)) {
      if (oldest->due <= (record.now != 0 ? record.now : Env::now())) {
        state = is_due_.set(state, 1);
      }
    }
    state_.store(state, std::memory_order_relaxed);
  }

  [[gnu::noinline]] void unlock_with_sleepers() {
    if (relies_on_another()) {
      Env::clear_low_byte(word_);
      return;
    }
    // Acquire pairs with the release of the pushes: the nodes are seen.
    std::uint64_t seen = word_.load(std::memory_order_acquire);
    std::uint64_t state = state_.load(std::memory_order_relaxed);
    if (!prefers_node()) {
      state = place_.set(state, 0);
    }
    if ((seen & owed_) == 0 && stack_of(state) == nullptr) {
      state = sleepers::with_batch(state, stack_of(seen));
    }
    node* heir = nullptr;  // an elder, to be woken
    bool counted = false;
    for (;;) {
      if ((seen & owed_) != 0 && heir == nullptr) {
        if (node* next = take_owed(seen, stack_of(state) != nullptr ? elders_ : 0)) {
          grant(next, lock_);
          return;
        }
        continue;
      }
      node* top = stack_of(seen);
      std::uint64_t tags = seen & tags_ & ~(held_ | slow_ | elders_);
      if (heir == nullptr && (top != nullptr || stack_of(state) != nullptr)) {
        if (!wakes(tags, state, top != nullptr ? top : stack_of(state))) {
          if (!counted) {
            counted = true;
            state = suppressed_.set(state, suppressed_.get(state) + 1);
          }
        } else {
          state = suppressed_.set(state, 0);
          heir = sleepers::take_elder(state, top == nullptr);
          if (heir == nullptr && prefers_node() && Env::advice(stays_on_node(tags, state))) {
            heir = sleepers::take_local(top, place_.get(state));
          }
          if (heir == nullptr) {
            state_.store(state, std::memory_order_relaxed);
            // Release hands the section's writes over, here and below.
            if (word_.compare_exchange_strong(
                    seen,
                    word_of(top->below, tags | heir_ | (stack_of(state) != nullptr ? elders_ : 0)),
                    std::memory_order_release, std::memory_order_acquire)) {
              grant(top, come_);
              return;
            }
            continue;
          }
        }
      }
      // From here on the lock may be gone.
      state_.store(state, std::memory_order_relaxed);
      if (word_.compare_exchange_strong(
              seen,
              word_of(top, tags | (heir != nullptr ? heir_ : 0) |
                               (stack_of(state) != nullptr ? elders_ : 0)),
              std::memory_order_release, std::memory_order_acquire)) {
        if (heir != nullptr) {
          grant(heir, come_);
        }
        return;
      }
    }
  }

  /// Whether an unlock may leave the sleepers to a thread that is on its way to the lock.
  bool relies_on_another() {
    const std::uint64_t tags = std::uint64_t{Env::second_byte(word_)} << 8;
    if ((std::uint64_t{Env::high_half(word_)} << 32 & (reserved_ | owed_)) != 0 ||
        (tags & (heir_ | pollers_)) == 0 || Env::advice(needs_more_heirs(tags))) {
      return false;
    }
    const std::uint64_t state = state_.load(std::memory_order_relaxed);
    const std::uint64_t count = suppressed_.get(state);
    if (Env::advice(is_due_.get(state) != 0 || count >= Env::template value<suppressed_wakes>())) {
      return false;
    }
    state_.store(suppressed_.set(state, count + 1), std::memory_order_relaxed);
    return true;
  }

  /// Whether an unlock that leaves sleepers wakes one, `next`. It does not while a thread is on its
  /// way to the lock, unless that takes so long that it has probably been preempted, or the lock
  /// needs more heirs.
  static bool wakes(std::uint64_t& tags, std::uint64_t& state, node* next) {
    if ((tags & (heir_ | pollers_)) == 0) {
      return true;
    }
    if ((tags & reserved_) != 0) {
      return false;
    }
    bool more = needs_more_heirs(tags);
    if (more && prefers_node() && stays_on_node(tags, state) && next->home != place_.get(state)) {
      more = false;
      tags &= ~early_;
    }
    return Env::advice(more || is_overdue(state, next));
  }

  /// Whether the lock is free for long because the sleepers are woken one after the other, and
  /// there are processors that could run several at a time.
  static bool needs_more_heirs(std::uint64_t tags) {
    const std::uint64_t least = Env::template value<more_heirs>();
    return (tags & two_early_) != 0 && least != 0 && Env::cpus() >= least;
  }

  /// Whether the oldest elder is due, or threads on their way have kept others from being woken for
  /// longer than a thread that runs takes.
  static bool is_overdue(std::uint64_t& state, node* next) {
    if (is_due_.get(state) != 0) {
      return true;
    }
    const std::uint64_t most = Env::template value<suppressed_wakes>();
    if (most == 0 || suppressed_.get(state) < most) {
      return most == 0;
    }
    state = suppressed_.set(state, 0);
    const std::uint64_t now = Env::now();
    if (is_timed_.get(state) == 0 || next->suppressed_since == 0) {
      next->suppressed_since = now;
      state = is_timed_.set(state, 1);
      return false;
    }
    return now - next->suppressed_since >= Env::template value<overdue>();
  }

  static void grant(node* to, std::uint8_t what) {
    to->grant = what;
    to->cell.grant();
  }

  /// Takes the aged sleeper off the stack, to be handed the lock; null if the stack has changed
  /// meanwhile or there is none. elders: the tag if there are elders, some of which may be new.
  node* take_owed(std::uint64_t& seen, std::uint64_t elders) {
    node* above = nullptr;
    node* next = stack_of(seen);
    while (next != nullptr && !next->aged) {
      above = next;
      next = next->below;
    }
    if (next != nullptr && above != nullptr) {
      above->below = next->below;
      if ((seen & elders_) != elders) {
        word_.fetch_or(elders, std::memory_order_relaxed);
      }
      word_.fetch_and(~owed_, std::memory_order_relaxed);
      return next;
    }
    // Relaxed: the grant hands the section's writes over.
    const std::uint64_t left =
        (next == nullptr ? seen & ~owed_ : word_of(next->below, seen & tags_ & ~owed_)) | elders;
    if (word_.compare_exchange_strong(seen, left, std::memory_order_relaxed,
                                      std::memory_order_acquire)) {
      if (next == nullptr) {
        seen = left;
      }
      return next;
    }
    return nullptr;
  }

  typename Env::template atomic<std::uint64_t> word_{};
  typename Env::template atomic<std::uint64_t> state_{};
};

}  // namespace lockwright
