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

void follow_calls(worker& me, herd_state& state) {
  std::uint64_t seen = 0;
  for (bool last = false; !last;) {
    state.mutex.lock(me);
    while (state.round == seen) {
      state.mutex.wait(me, state.go[(seen + 1) % 2]);
    }
    seen = state.round;
    last = state.last;
    if (--state.missing == 0) {
      state.back.signal();
    }
    me.run.section(me);
    state.mutex.unlock(me);
  }
}

void call(worker& me, herd_state& state, std::uint64_t herd) {
  for (bool last = false; !last;) {
    me.run.gap(me);
    state.mutex.lock(me);
    last = me.run.over();
    state.last = last;
    ++state.round;
    state.missing = herd;
    condition& go = state.go[state.round % 2];
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
      state.mutex.unlock(me);
      go.broadcast();
      state.mutex.lock(me);
    }
    while (state.missing != 0) {
      state.mutex.wait(me, state.back);
    }
    state.mutex.unlock(me);
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
