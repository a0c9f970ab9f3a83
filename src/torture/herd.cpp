#include <cstdint>
#include <memory>

#include "phase_run.hpp"
#include "phases.hpp"

namespace torture {
namespace {

struct herd_state {
  explicit herd_state(guarded& by) : mutex{by} {}

  guarded& mutex;
  // One for even and one for odd rounds: waiters for the next round use the other one.
  condition go[2] = {condition(CLOCK_REALTIME), condition(CLOCK_MONOTONIC)};
  condition back{CLOCK_MONOTONIC};
  std::uint64_t round = 0;
  std::uint64_t missing = 0;
  bool last = false;
};

void follow_calls(worker& me, herd_state& of) {
  std::uint64_t seen = 0;
  for (bool last = false; !last;) {
    of.mutex.lock(me);
    while (of.round == seen) {
      of.mutex.wait(me, of.go[(seen + 1) % 2]);
    }
    seen = of.round;
    last = of.last;
    if (--of.missing == 0) {
      of.back.signal();
    }
    me.run.section(me);
    of.mutex.unlock(me);
  }
}

void call(worker& me, herd_state& of, std::uint64_t herd) {
  for (bool last = false; !last;) {
    me.run.gap(me);
    of.mutex.lock(me);
    last = me.run.over();
    of.last = last;
    ++of.round;
    of.missing = herd;
    condition& go = of.go[of.round % 2];
    const bool ends = me.draw.one_in(2);
    const bool early = ends || me.draw.one_in(2);
    if (early) {
      go.broadcast();
    }
    if (ends) {
      // All its waiters have been woken, and its next use is two rounds later.
      go.renew();
    }
    if (!early) {
      of.mutex.unlock(me);
      go.broadcast();
      of.mutex.lock(me);
    }
    while (of.missing != 0) {
      of.mutex.wait(me, of.back);
    }
    of.mutex.unlock(me);
  }
}

}  // namespace

void herd(phase_run& on) {
  const auto state = std::make_shared<herd_state>(on.mutexes()[0]);
  const std::uint64_t count = on.plan.threads;
  on.add_worker("caller", [state, count](worker& me) { call(me, *state, count); });
  for (std::uint64_t i = 0; i < count; ++i) {
    on.add_worker("herd", [state](worker& me) { follow_calls(me, *state); });
  }
  if (dice(on.plan.seed).one_in(2)) {
    write_until_over(on);
  }
}

}  // namespace torture
