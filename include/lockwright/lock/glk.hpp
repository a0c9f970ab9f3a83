// glk: three locks of which one is in use: a ticket lock under low
// contention, an MCS queue under high contention, and a mutex whose waiters
// sleep under over-subscription. The holder chooses at intervals.
//
// Citation: J. Antic, G. Chatzopoulos, R. Guerraoui, V. Trigonakis, "Locking Made Easy", Middleware
// 2016 (GLK, the lock of its locking service), and its library.
//
//   word       | meaning                                                | written by
//   ticket     | the ticket lock                                        | see ticket
//   rest       | all of the below, made at its first use;               | see lazy_part
//              | where there is no memory, the ticket lock stays in use |
//   mode       | which lock is in use: 0 ticket, 1 mcs, 2 mutex;        | the holder
//              | without a rest, the ticket lock                        |
//   waited     | sum of the waiters in this period's samples            | the holder
//   taken      | acquisitions in this period, unless by ticket, whose   | the holder
//              | numbers count them                                     |
//   mcs, mutex | the other locks                                        | see mcs, futex
//
//          waited >= 3            crowded
//    ticket -----------> mcs ----------------> mutex
//     ^ ^ |                |                    | ^
//     | | +----------------|--- crowded --------|-+
//     | +-- waited < 2 ----+                    |
//     +------------- not crowded ---------------+
//
// A holder at the end of a period, or a waiter that has polled for long, reads the load: see
// crowding.hpp. In the paper an extra thread reads it, and the mutex is left with the next
// acquisition after that; here with the next sample. In the published library a thread chooses
// before it checks that its lock is still in use, so that it could choose instead of the holder. A
// lock made while the machine is crowded begins with the mutex there; here the state of a new lock
// is zero, which is the ticket lock. The mutex of that library polls for longer than this one.
//
// Invariants
//   IN-USE     the holder has the lock that `mode` names. A thread that acquires one
//              of the three and finds another in use releases it and begins again.
//   ONE-CHOOSER  only the holder changes `mode`, and is no longer the holder afterwards: it
//              releases its lock and begins again. So unlock finds in `mode` which lock to release.
//   PROGRESS   between a choice of mcs or mutex and the next choice a thread is
//              inside, so repeated choices do not exclude all threads.
//   EPOCHS     a mode may come back while threads still wait from the last time it was in
//              use; they are then waiters like any others.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/lock/futex.hpp"
#include "lockwright/lock/mcs.hpp"
#include "lockwright/lock/ticket.hpp"
#include "lockwright/parts/crowding.hpp"
#include "lockwright/parts/lazy_part.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class glk {
  enum mode : std::uint32_t { by_ticket, by_mcs, by_mutex };

  using ticket_lock = ticket<Env, crowd_poller<Env>>;
  using queue_lock = mcs<Env, crowd_wait>;
  using mutex_lock = futex<Env>;

  struct alignas(64) rest {
    typename Env::template atomic<std::uint32_t> in_use;
    typename Env::template plain<std::uint32_t> waited;
    typename Env::template plain<std::uint32_t> taken;
    mutex_lock mutex;
    queue_lock queue;

    static std::size_t bytes() { return sizeof(rest); }
  };

 public:
  static constexpr lock_traits traits{
      .category = category::load_control,
      .waiting = waiting::spin,
      .realtime = realtime::starves,
      .light = true,
      .node_bytes = queue_lock::traits.node_bytes,
      .survives_oversubscription = true,
      .atomics = {.lock = 1, .unlock = 0},
      .suits = {{{use_case::crowded, 17, "changes to a mutex that parks"}}},
      .patents = "US 11,829,805 (changing a lock to a queue lock past a threshold)",
      .reference = "Antic, Chatzopoulos, Guerraoui and Trigonakis, Middleware 2016",
      .summary =
          "A ticket lock while few wait, an MCS queue while many do, and a mutex whose waiters "
          "sleep while threads outnumber processors. Light as long as few wait; it takes a while "
          "to change."};

  static constexpr tunable sample{.name = "sample",
                                  .default_value = 128,
                                  .counted_in = unit::count,
                                  .min = 2,
                                  .max = 1u << 20,
                                  .model_value = 2,
                                  .meaning =
                                      "the number of acquisitions between two counts of the "
                                      "waiters; rounded down to a power of two",
                                  .source = "the published algorithm"};
  static constexpr tunable period{.name = "period",
                                  .default_value = 4096,
                                  .counted_in = unit::count,
                                  .min = 2,
                                  .max = 1u << 30,
                                  .model_value = 2,
                                  .meaning =
                                      "the number of acquisitions between two choices of the lock; "
                                      "rounded down to a power of two",
                                  .source = "the published algorithm"};
  static constexpr tunable many{
      .name = "many",
      .default_value = 3,
      .counted_in = unit::count,
      .min = 0,
      .max = 1u << 20,
      .model_value = 1,
      .meaning =
          "the average number of waiters before a drawn number from which on the queue is used",
      .source = "the published algorithm"};
  static constexpr tunable few{
      .name = "few",
      .default_value = 2,
      .counted_in = unit::count,
      .min = 0,
      .max = 1u << 20,
      .model_value = 2,
      .meaning =
          "the average length of the queue, with the holder, below which it is no longer used",
      .source = "the published algorithm"};
  static constexpr tunable memory{.name = "memory",
                                  .default_value = 8,
                                  .counted_in = unit::count,
                                  .min = 1,
                                  .max = 1u << 20,
                                  .model_value = 4,
                                  .meaning =
                                      "the fraction, as 1 in n, of a period of the queue that is "
                                      "carried over from the one before",
                                  .source = "the published library"};
  static constexpr auto tunables =
      join(join(tunable_list<5>{&sample, &period, &many, &few, &memory}, crowding<Env>::tunables),
           join(crowd_poller<Env>::tunables, mutex_lock::tunables));

  static constexpr std::size_t common_bytes = crowding<Env>::common_bytes;

  static std::uint64_t bytes_outside() { return lazy_part<Env, rest>::bytes(); }

  // Inlined: the call would cost as much as the rest of the fast path.
  [[gnu::always_inline]] arrival lock() {
    arrival found = arrival::uncontended;
    while (!enter(found)) {
    }
    return found;
  }

  /// False also if the lock in use has changed meanwhile: a thread was inside.
  [[gnu::always_inline]] bool try_lock() {
    const mode which = presumed_in_use();
    if (!try_part(which)) {
      return false;
    }
    if (in_use() == which) [[likely]] {
      return true;
    }
    release(which);
    return false;
  }

  [[gnu::always_inline]] void unlock() { release(presumed_in_use()); }

 private:
  /// Exact for the holder, a guess for others.
  [[nodiscard]] mode presumed_in_use() const {
    const rest* more = rest_.made();
    return more == nullptr ? by_ticket
                           : static_cast<mode>(more->in_use.load(std::memory_order_relaxed));
  }

  /// The caller holds one of the three. Acquire pairs with the release in stay(), after the
  /// sections before the change.
  [[nodiscard]] mode in_use() const {
    const rest* more = rest_.made();
    return more == nullptr ? by_ticket
                           : static_cast<mode>(more->in_use.load(std::memory_order_acquire));
  }

  /// False if another lock was in use in the end.
  [[gnu::always_inline]] bool enter(arrival& found) {
    const mode which = presumed_in_use();
    if (which != by_ticket) [[unlikely]] {
      return enter_other(which, found);
    }
    const typename ticket_lock::drawn number = ticket_.draw_and_wait();
    found = number.before_mine == 0 ? found : arrival::contended;
    return stay(by_ticket, [this, number] { return after_ticket(number); });
  }

  // The ticket lock is the fast path. The others are out of line, so that it is inlined.

  [[gnu::noinline]] bool enter_other(mode which, arrival& found) {
    rest& more = *rest_.made();
    const arrival inner = which == by_mcs ? more.queue.lock() : more.mutex.lock();
    found = inner == arrival::uncontended ? found : inner;
    return stay(which, [this, which, &more] {
      return which == by_mcs ? after_mcs(more) : after_mutex(more);
    });
  }

  /// The caller holds one of the three: true if that is in use and stays so. Otherwise it is
  /// released.
  template <class Choice>
  [[gnu::always_inline]] bool stay(mode which, Choice choice) {
    if (in_use() == which) [[likely]] {
      const mode best = choice();
      if (best == which) [[likely]] {
        return true;
      }
      rest_.made()->in_use.store(best, std::memory_order_release);
    }
    release(which);
    return false;
  }

  bool try_part(mode which) { return which == by_ticket ? ticket_.try_lock() : try_other(which); }

  [[gnu::noinline]] bool try_other(mode which) {
    return which == by_mcs ? rest_.made()->queue.try_lock() : rest_.made()->mutex.try_lock();
  }

  void release(mode which) {
    if (which == by_ticket) [[likely]] {
      ticket_.unlock();
    } else {
      release_other(which);
    }
  }

  [[gnu::noinline]] void release_other(mode which) {
    if (which == by_mcs) {
      rest_.made()->queue.unlock();
    } else {
      rest_.made()->mutex.unlock();
    }
  }

  // The holder calls the following functions, which return the lock to use.

  mode after_ticket(typename ticket_lock::drawn number) {
    // The numbers begin with 0, and a new lock has no samples.
    return is_multiple(number.mine + 1, Env::template value<sample>()) ? sample_ticket(number)
                                                                       : by_ticket;
  }

  [[gnu::noinline]] mode sample_ticket(typename ticket_lock::drawn number) {
    if (number.before_mine != 0) {
      rest* more = rest_.get();
      if (more == nullptr) {
        return by_ticket;
      }
      more->waited = more->waited + number.before_mine;
    }
    if (!is_multiple(number.mine + 1, Env::template value<period>())) {
      return by_ticket;
    }
    if (crowding<Env>::is_crowded()) {
      rest* more = rest_.get();
      if (more == nullptr) {
        return by_ticket;
      }
      more->taken = 0;
      return by_mutex;
    }
    rest* more = rest_.made();
    if (more == nullptr) {
      return by_ticket;
    }
    if (more->waited >= Env::template value<many>() * samples()) {
      begin_period(*more);
      return by_mcs;
    }
    more->waited = 0;
    return by_ticket;
  }

  mode after_mcs(rest& more) {
    more.taken = more.taken + 1;
    return is_multiple(more.taken, Env::template value<sample>()) ? sample_mcs(more) : by_mcs;
  }

  [[gnu::noinline]] mode sample_mcs(rest& more) {
    more.waited = more.waited + 1 + more.queue.queued();
    if (more.taken < Env::template value<period>()) {
      return by_mcs;
    }
    if (crowding<Env>::is_crowded()) {
      more.taken = 0;
      return by_mutex;
    }
    if (more.waited < Env::template value<few>() * samples()) {
      more.waited = 0;
      return by_ticket;
    }
    begin_period(more);
    return by_mcs;
  }

  mode after_mutex(rest& more) {
    more.taken = more.taken + 1;
    return is_multiple(more.taken, Env::template value<sample>()) ? sample_mutex(more) : by_mutex;
  }

  [[gnu::noinline]] static mode sample_mutex(rest& more) {
    if (crowding<Env>::is_crowded()) {
      return by_mutex;
    }
    more.waited = 0;
    return by_ticket;
  }

  /// Begins a period of the queue, with the last part of the one before.
  static void begin_period(rest& more) {
    more.waited = static_cast<std::uint32_t>(more.waited / Env::template value<memory>());
    more.taken =
        static_cast<std::uint32_t>(Env::template value<period>() / Env::template value<memory>());
  }

  static std::uint64_t samples() {
    const std::uint64_t all = std::bit_floor(Env::template value<period>()) /
                              std::bit_floor(Env::template value<sample>());
    return all == 0 ? 1 : all;
  }

  static bool is_multiple(std::uint32_t number, std::uint64_t step) {
    return (number & (std::bit_floor(step) - 1)) == 0;
  }

  ticket_lock ticket_;
  lazy_part<Env, rest> rest_;
};

}  // namespace lockwright
