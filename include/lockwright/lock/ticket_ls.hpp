// ticket-ls: libslock's ticket lock with proportional waiting. A waiter backs off for longer the
// more numbers are before its own.
//
// Citation: T. David, R. Guerraoui, V. Trigonakis, "Everything You Always Wanted to Know About
// Synchronization but Were Afraid to Ask", SOSP 2013 (its library, libslock).
//
// The words and the invariants are those of ticket; only the waiting differs.
// A waiter with more than `yield-beyond` numbers before its own also yields. libslock's delay for
// a number is constant until another one is served; here it grows meanwhile, up to `longest`, as
// libslock's constants suggest and its hierarchical ticket lock does.
#pragma once

#include <cstdint>

#include "lockwright/lock.hpp"
#include "lockwright/lock/ticket.hpp"
#include "lockwright/parts/proportional.hpp"
#include "lockwright/tunable.hpp"

namespace lockwright {

template <class Env>
class ticket_ls_poller {
  using delay = proportional_delay<Env, 128>;

 public:
  static constexpr tunable yield_beyond{
      .name = "yield-beyond",
      .default_value = 20,
      .counted_in = unit::count,
      .min = 0,
      .max = 1u << 20,
      .model_value = 1,
      .meaning = "the number of waiters ahead above which a waiter yields",
      .source = "libslock"};
  static constexpr auto tunables = join(delay::tunables, tunable_list<1>{&yield_beyond});

  void back_off(std::uint32_t before_mine, const void* polled) {
    delay_.back_off(before_mine, polled);
    if (before_mine > Env::template value<yield_beyond>()) {
      Env::yield();
    }
  }

 private:
  delay delay_;
};

template <class Env>
class ticket_ls : public ticket<Env, ticket_ls_poller<Env>> {
 public:
  static constexpr lock_traits traits{
      .category = category::direct_handoff,
      .waiting = waiting::spin_backoff,
      .realtime = realtime::starves,
      .fifo = true,
      .light = true,
      .atomics = {.lock = 1, .unlock = 0},
      .reference = "David, Guerraoui and Trigonakis, SOSP 2013 (libslock)",
      .summary =
          "A ticket lock whose waiters back off in proportion to the numbers before theirs. First "
          "come, first served, light and small; collapses when threads outnumber cores."};
};

}  // namespace lockwright
