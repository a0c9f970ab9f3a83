#include <cstdint>
#include <memory>

#include "clock.hpp"
#include "phase_run.hpp"
#include "phases.hpp"

namespace torture {
namespace {

// With more polling threads than this, the holders of the mutex would hardly ever run.
constexpr std::uint64_t few_threads = 4;

void write(worker& me) {
  while (!me.run.over()) {
    guarded& it = me.run.any_mutex(me);
    if (me.run.plan.threads <= few_threads && me.draw.one_in(8)) {
      it.lock_polling(me);
    } else {
      it.lock(me);
    }
    me.run.section(me);
    it.unlock(me);
    me.run.gap(me);
  }
}

void attempt(worker& me) {
  while (!me.run.over()) {
    guarded& it = me.run.any_mutex(me);
    if (it.try_lock(me)) {
      me.run.section(me);
      it.unlock(me);
    }
    me.run.gap(me);
  }
}

void lock_with_deadlines(worker& me) {
  while (!me.run.over()) {
    guarded& it = me.run.any_mutex(me);
    // Deadlines that have passed, that are hardly ahead, that a section can outlast, and that no
    // wait may reach.
    const std::uint64_t most = me.draw.one_in(4) ? 0 : me.draw.one_in(2) ? 50 * us : 5 * ms;
    if (it.lock_within(me, me.draw.one_in(4) ? guarded::far_away
                           : most == 0       ? 0
                                             : me.draw.below(most))) {
      me.run.section(me);
      it.unlock(me);
    }
    me.run.gap(me);
  }
}

// Waits on a condition variable for a signal that may not come.
void wait_a_while(worker& me, condition& on) {
  while (!me.run.over()) {
    guarded& it = me.run.mutexes()[0];
    it.lock(me);
    it.wait_within(me, on, me.draw.below(me.draw.one_in(2) ? 50 * us : 2 * ms));
    me.run.section(me);
    it.unlock(me);
    if (me.draw.one_in(8)) {
      me.draw.one_in(2) ? on.signal() : on.broadcast();
    }
    me.run.gap(me);
  }
}

// Holds two at a time, taken in order and given back in either.
void nest(worker& me) {
  while (!me.run.over()) {
    auto& all = me.run.mutexes();
    const std::uint64_t first = me.draw.below(all.size());
    const std::uint64_t second = me.draw.between(first, all.size() - 1);
    all[first].lock(me);
    if (second != first) {
      all[second].lock(me);
      me.run.section(me);
      const bool crossed = me.draw.one_in(2);
      all[crossed ? first : second].unlock(me);
      all[crossed ? second : first].unlock(me);
    } else {
      if (all[first].recursive()) {
        all[first].lock_again();
        me.run.section(me);
        all[first].unlock_again();
      }
      all[first].unlock(me);
    }
    me.run.gap(me);
  }
}

}  // namespace

void write_until_over(phase_run& on) { on.add_worker("writer", write); }

void crowd(phase_run& on) {
  const auto rarely_signalled = std::make_shared<condition>(CLOCK_MONOTONIC);
  const auto waiter = [rarely_signalled](worker& me) { wait_a_while(me, *rarely_signalled); };
  for (std::uint64_t i = 0; i < on.plan.threads; ++i) {
    // The first mutexes, so that any two threads contend.
    const std::uint64_t part = i < 2 ? 0 : i % 8;
    if (part == 3) {
      on.add_worker("trylocker", attempt);
    } else if (part == 4) {
      on.add_worker("locker with deadlines", lock_with_deadlines);
    } else if (part == 5 && !on.plan.greedy) {
      on.add_worker("holder of two", nest);
    } else if (part == 6) {
      on.add_worker("waiter with deadlines", waiter);
    } else {
      on.add_worker("writer", write);
    }
  }
  // With few threads, these still make all the calls.
  if (on.plan.threads < 7) {
    on.add_worker("trylocker", attempt);
    on.add_worker("locker with deadlines", lock_with_deadlines);
    on.add_worker("waiter with deadlines", waiter);
    if (!on.plan.greedy) {
      on.add_worker("holder of two", nest);
    }
  }
}

}  // namespace torture
