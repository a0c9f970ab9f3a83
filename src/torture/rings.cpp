#include <cstdint>
#include <deque>
#include <memory>

#include "clock.hpp"
#include "phase_run.hpp"
#include "phases.hpp"

namespace torture {
namespace {

// Tokens circulate among the threads; a thread without one waits on its own condition variable.
// Only a passed token wakes a thread, so a lost wake-up blocks the ring forever; the end of the
// phase is passed on in the same way.
struct ring {
  ring(guarded& by, std::uint64_t members, std::uint64_t count, bool monotonic)
      : mutex{by}, tokens{count} {
    for (std::uint64_t i = 0; i < members; ++i) {
      places.emplace_back(monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME);
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      ++places[i % members].tokens;
    }
  }

  struct place {
    explicit place(clockid_t clock) : filled{clock} {}
    condition filled;
    std::uint64_t tokens = 0;
  };

  guarded& mutex;
  std::deque<place> places;
  std::uint64_t tokens;  // in circulation
  bool last = false;     // the current round ends the phase
};

void circulate(worker& me, ring& circle, std::uint64_t own) {
  const std::uint64_t next = (own + 1) % circle.places.size();
  ring::place& here = circle.places[own];
  // One thread in four also polls, by waits with a deadline.
  const bool impatient = own % 4 == 3;
  for (bool going = true; going;) {
    circle.mutex.lock(me);
    while (here.tokens == 0) {
      if (impatient) {
        circle.mutex.wait_within(me, here.filled,
                                 me.draw.below(me.draw.one_in(2) ? 50 * us : 20 * ms));
      } else {
        circle.mutex.wait(me, here.filled);
      }
    }
    --here.tokens;
    bool passes = true;
    if (circle.last) {
      going = false;
    } else if (own == 0 && me.run.over()) {
      // The first thread collects all tokens and sends the last one round once more.
      passes = --circle.tokens == 0;
      circle.last = passes;
      going = !passes;
    }
    passes = passes && (going || next != 0);
    if (passes) {
      ++circle.places[next].tokens;
    }
    const bool early = me.draw.one_in(2);
    condition& filled = circle.places[next].filled;
    const bool to_all = me.draw.one_in(8);
    if (passes && early) {
      to_all ? filled.broadcast() : filled.signal();
    }
    me.run.section(me);
    circle.mutex.unlock(me);
    if (passes && !early) {
      to_all ? filled.broadcast() : filled.signal();
    }
    if (me.draw.one_in(16)) {
      me.run.gap(me);
    }
  }
}

}  // namespace

void rings(phase_run& on) {
  dice draw(on.plan.seed);
  const std::uint64_t count = on.plan.threads < 8 ? 1 : 2;
  const std::uint64_t members = on.plan.threads / count < 2 ? 2 : on.plan.threads / count;
  for (std::uint64_t i = 0; i < count; ++i) {
    guarded& by = on.mutexes()[i % on.mutexes().size()];
    const std::uint64_t tokens = draw.one_in(2) ? 1 : draw.between(1, members);
    const auto circle = std::make_shared<ring>(by, members, tokens, draw.one_in(2));
    for (std::uint64_t own = 0; own < members; ++own) {
      on.add_worker("ring", [circle, own](worker& me) { circulate(me, *circle, own); });
    }
  }
  if (draw.one_in(2)) {
    write_until_over(on);
  }
}

}  // namespace torture
